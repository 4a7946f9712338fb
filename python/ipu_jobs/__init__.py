"""Jobs on Graphcore IPUs from Python: submit, watch, read logs. See docs/python.md.

    import ipu_jobs

    job = ipu_jobs.submit("train.py", "--epochs", "3", image="team/poplar:3.4", ipus=4)
    for line in job.logs(follow=True):
        print(line)
    job.wait()
"""

import os
from typing import Any, List, Mapping, Optional, Union

from . import backend as _backend
from .backend import Backend
from .cluster import Cluster
from .errors import ApiError, IpuJobsError, JobDeleted, JobFailed, Unreachable
from .job import Event, Job, Progress
from .local import Local
from .reporter import progress
from .source import Program

__all__ = [
    "ApiError", "Backend", "Cluster", "Event", "IpuJobsError", "Job", "JobDeleted", "JobFailed", "Local", "Progress",
    "Unreachable", "apply", "job", "jobs", "progress", "submit",
]  # fmt: skip


def submit(program: Program, *args: Any, image: str, ipus: int = 1, workers: int = 1, instances: int = 1, name: Optional[str] = None,
           namespace: Optional[str] = None, env: Optional[Mapping[str, str]] = None, python: str = "python3",
           spec: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> Job:  # fmt: skip
    return _backend.current().submit(program, *args, image=image, ipus=ipus, workers=workers, instances=instances, name=name,
                                     namespace=namespace, env=env, python=python, spec=spec, **kwargs)  # fmt: skip


submit.__doc__ = Backend.submit.__doc__


def apply(job: Union[str, "os.PathLike[str]", Mapping[str, Any]], namespace: Optional[str] = None) -> Job:
    return _backend.current().apply(job, namespace)


apply.__doc__ = Backend.apply.__doc__


def job(name: str, namespace: Optional[str] = None) -> Job:
    """The job of that name."""
    return _backend.current().job(name, namespace)


def jobs(namespace: Optional[str] = None) -> List[Job]:
    """All jobs of a namespace."""
    return _backend.current().jobs(namespace)
