"""Where jobs run. A backend creates them; a Job asks it for everything else."""

import contextvars
import functools
import os
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Type, TypeVar, Union

from . import documents, manifest, source
from .errors import IpuJobsError
from .job import Job
from .lines import Position

Object = Dict[str, Any]
Self = TypeVar("Self", bound="Backend")


class Backend:
    """Cluster or Local. `with Local(): ...` makes it the one that submit(), apply(), job() and jobs() use."""

    namespace: Optional[str] = None

    def __enter__(self: Self) -> Self:
        self._token = _current.set(self)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        _current.reset(self._token)

    def submit(self, program: source.Program, *args: Any, image: str, ipus: int = 1, workers: int = 1, instances: int = 1,
               name: Optional[str] = None, namespace: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
               python: str = "python3", spec: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> Job:  # fmt: skip
        """Creates a job and returns at once.

        program: path of a script, or of a folder with a __main__.py, which is sent with the job; a function, of which only its
            text is sent; or a command as a list, which the image must contain.
        args, kwargs: arguments of the program; keyword arguments only of a function.
        image: the container image. It must contain `python`, except for a command.
        ipus, workers, instances: ipusPerJobInstance, workers.replicas and jobInstances of the IPUJob.
        name: of the job; by default the program's with a random suffix.
        namespace: by default that of the kubeconfig's context.
        env: environment variables.
        python: the interpreter for a script or a function.
        spec: more fields of the IPUJob's spec, such as restartPolicy, merged over the others. Lists of things with names, such as
            containers (the program's is called "main"), are merged by name.
        """
        found = source.read(program, args, kwargs, python)
        name = name or manifest.unique_name(found.name)
        made = manifest.job(name, found, image, ipus, workers, instances, env or {}, spec or {})
        return Job(self, self.create(made, manifest.config_map(name, found) if found.files else None, namespace))

    def apply(self, job: Union[str, "os.PathLike[str]", Mapping[str, Any]], namespace: Optional[str] = None) -> Job:
        """Creates or changes the job of a YAML file, as kubectl apply --server-side does, or one that is given as a dict."""
        if isinstance(job, Mapping):
            return Job(self, self.apply_objects([dict(job)], manifest.only_job([dict(job)], "the job"), namespace))
        path = os.fspath(job)
        objects = documents.read(path)
        return Job(self, self.apply_objects(objects, manifest.only_job(objects, path), namespace))

    def job(self, name: str, namespace: Optional[str] = None) -> Job:
        """The job of that name."""
        namespace = namespace or self.default_namespace()
        found = self.get(namespace, name)
        if found is None:
            raise IpuJobsError(f"there is no IPUJob {name} in namespace {namespace}")
        return Job(self, found)

    def jobs(self, namespace: Optional[str] = None) -> List[Job]:
        """All jobs of a namespace."""
        return [Job(self, each) for each in self.list(namespace or self.default_namespace())]

    # What a backend does.

    def default_namespace(self) -> str:
        raise NotImplementedError

    def create(self, job: Object, config_map: Optional[Object], namespace: Optional[str]) -> Object:
        raise NotImplementedError

    def apply_objects(self, objects: List[Object], job: Object, namespace: Optional[str]) -> Object:
        """Returns the job."""
        raise NotImplementedError

    def get(self, namespace: str, name: str) -> Optional[Object]:
        raise NotImplementedError

    def list(self, namespace: str) -> "List[Object]":
        raise NotImplementedError

    def patch(self, namespace: str, name: str, patch: Object) -> Object:
        raise NotImplementedError

    def delete(self, namespace: str, name: str, uid: str) -> None:
        raise NotImplementedError

    def watch_job(self, namespace: str, name: str, version: str, seconds: int) -> Iterator[Tuple[str, Object]]:
        """Type and object of each change after that version; ends earlier when changes may have been missed."""
        raise NotImplementedError

    def get_pod(self, namespace: str, name: str) -> Optional[Object]:
        raise NotImplementedError

    def await_pod_change(self, namespace: str, name: str, seen: Optional[Object], seconds: int) -> None:
        """Returns when the pod is another than the one seen, or after that time."""
        raise NotImplementedError

    def read_log(self, namespace: str, pod: str, container: str, tail: Optional[int]) -> Iterator[str]:
        """The lines that are there, or the last of them."""
        raise NotImplementedError

    def follow_log(self, namespace: str, pod: str, container: str, position: Position, tail: Optional[int]) -> Iterator[str]:
        """The lines from that position, until the container ends or the connection breaks."""
        raise NotImplementedError

    def list_events(self, namespace: str, name: str, uid: str) -> "List[Object]":
        raise NotImplementedError


_current: "contextvars.ContextVar[Optional[Backend]]" = contextvars.ContextVar("ipu_jobs_backend", default=None)


@functools.lru_cache(maxsize=None)
def _default() -> Backend:
    from .cluster import Cluster

    return Cluster()


def current() -> Backend:
    """That of the innermost `with`, or the cluster of the kubeconfig."""
    return _current.get() or _default()
