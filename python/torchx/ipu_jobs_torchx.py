"""The TorchX schedulers `ipu`, for a cluster, and `ipu_local`, for this machine: an app with one role is an IPUJob whose workers are
the role's replicas."""

import json
import re
from datetime import datetime
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple

from ipu_jobs import Backend, Cluster, IpuJobsError, Job, Local, manifest
from ipu_jobs.source import Source
from torchx.schedulers.api import DescribeAppResponse, ListAppResponse, Scheduler, Stream, filter_regex
from torchx.specs import (
    AppDef, AppDryRunInfo, AppState, BindMount, ReplicaStatus, Role, RoleStatus, VolumeMount, macros, runopts,
)  # fmt: skip

IPUS = "graphcore.ai/ipu"  # of a role's resource.devices
ROLE = "torchx.pytorch.org/role-name"
# A canceled job is suspended: its IPUs are released, and its logs stay.
STATES = {
    "Pending": AppState.PENDING, "Starting": AppState.PENDING, "Running": AppState.RUNNING, "Restarting": AppState.PENDING,
    "Suspended": AppState.CANCELLED, "Completed": AppState.SUCCEEDED, "Failed": AppState.FAILED, "Terminating": AppState.CANCELLED,
}  # fmt: skip


class Request(NamedTuple):
    job: Dict[str, Any]
    namespace: Optional[str]


class IpuScheduler(Scheduler[Mapping[str, Any]]):
    def __init__(self, name: str, session_name: str, backend: Backend) -> None:
        super().__init__(name, session_name)
        self._backend = backend

    def _run_opts(self) -> runopts:
        options = runopts()
        options.add("namespace", type_=str, default=None, help="namespace of the job; default: that of the kubeconfig's context")
        options.add("ipus", type_=int, default=None,
                    help=f"IPUs of the job; default: those that its replicas have in resource.devices[{IPUS!r}], else 1 for each")  # fmt: skip
        return options

    def _validate(self, app: AppDef, *_: Any) -> None:
        """A role needs no resource: IPUs have a default."""

    def _submit_dryrun(self, app: AppDef, cfg: Mapping[str, Any]) -> "AppDryRunInfo[Request]":
        if len(app.roles) != 1:
            raise ValueError(f"an IPUJob runs one role, got {len(app.roles)}: submit an app for each")
        made = job_of(app.name, app.roles[0], cfg.get("ipus"))
        return AppDryRunInfo(Request(made, cfg.get("namespace")), lambda request: json.dumps(request.job, indent=2))

    def schedule(self, dryrun_info: "AppDryRunInfo[Request]") -> str:
        request = dryrun_info.request
        return _id(Job(self._backend, self._backend.create(request.job, None, request.namespace)))

    def describe(self, app_id: str) -> Optional[DescribeAppResponse]:
        job = self._find(app_id)
        if job is None:
            return None
        state, role = STATES.get(job.state, AppState.UNKNOWN), _role(job)
        replicas = [ReplicaStatus(id=k, role=role.name, state=state, hostname="") for k in range(role.num_replicas)]
        restarts = int((job.object.get("status") or {}).get("restartCount", 0))
        return DescribeAppResponse(app_id=app_id, state=state, num_restarts=restarts, msg=job.message, roles=[role],
                                   roles_statuses=[RoleStatus(role.name, replicas)])  # fmt: skip

    def list(self, cfg: Optional[Mapping[str, Any]] = None) -> List[ListAppResponse]:
        return [ListAppResponse(app_id=_id(job), state=STATES.get(job.state, AppState.UNKNOWN))
                for job in self._backend.jobs((cfg or {}).get("namespace"))]  # fmt: skip

    def _cancel_existing(self, app_id: str) -> None:
        self._get(app_id).suspend()

    def _delete_existing(self, app_id: str) -> None:
        self._get(app_id).delete()

    def log_iter(self, app_id: str, role_name: str, k: int = 0, regex: Optional[str] = None, since: Optional[datetime] = None,
                 until: Optional[datetime] = None, should_tail: bool = False,
                 streams: Optional[Stream] = None) -> Iterable[str]:  # fmt: skip
        if streams not in (None, Stream.COMBINED):
            raise ValueError("containers have one log: streams must be combined")
        if until is not None:
            raise ValueError("the log cannot be cut at a time: remove --until")
        lines = (line + "\n" for line in self._get(app_id).logs(worker=k, follow=should_tail))
        return filter_regex(regex, lines) if regex else lines

    def _find(self, app_id: str) -> Optional[Job]:
        namespace, name = _parts(app_id)
        found = self._backend.get(namespace, name)
        return None if found is None else Job(self._backend, found)

    def _get(self, app_id: str) -> Job:
        namespace, name = _parts(app_id)
        return self._backend.job(name, namespace)


class IpuLocalScheduler(IpuScheduler):
    def _cancel_existing(self, app_id: str) -> None:
        """ipu-run cannot suspend a job."""
        self._delete_existing(app_id)


def create_scheduler(session_name: str, **_: Any) -> IpuScheduler:
    return IpuScheduler("ipu", session_name, Cluster())


def create_local_scheduler(session_name: str, **_: Any) -> IpuScheduler:
    return IpuLocalScheduler("ipu_local", session_name, Local())


def _id(job: Job) -> str:
    return f"{job.namespace}:{job.name}"


def _parts(app_id: str) -> Tuple[str, str]:
    namespace, colon, name = app_id.partition(":")
    if not (namespace and colon and name):
        raise IpuJobsError(f"an app ID is NAMESPACE:NAME, got {app_id!r}")
    return namespace, name


def _role(job: Job) -> Role:
    """As much of it as the job tells."""
    pod = job.object["spec"]["workers"]
    container = pod["template"]["spec"]["containers"][0]
    name = (job.object["metadata"].get("annotations") or {}).get(ROLE, container["name"])
    return Role(name=name, image=container.get("image", ""), num_replicas=int(pod.get("replicas") or 1))


def job_of(app: str, role: Role, ipus: Optional[int]) -> Dict[str, Any]:
    """The IPUJob of an app. Pure but for the name."""
    if role.resource.gpu > 0:
        raise ValueError(f'role {role.name} asks for GPUs; ask for IPUs with resource.devices["{IPUS}"], or -cfg ipus=N')
    name = manifest.unique_name(app)
    values = macros.Values(img_root="", app_id=name, replica_id="$(IPU_JOB_WORKER_INDEX)", rank0_env="MASTER_ADDR")
    role = values.apply(role)
    ipus = ipus or role.num_replicas * int(role.resource.devices.get(IPUS, 1))
    pod = {"containers": [{"name": manifest.CONTAINER, **_container(role)}],
           "volumes": [_volume(n, mount) for n, mount in enumerate(role.mounts)]}  # fmt: skip
    spec: Dict[str, Any] = {"workers": {"template": {"spec": {key: value for key, value in pod.items() if value}}}}
    if role.max_retries:
        spec["restartPolicy"] = {"type": "OnFailure", "backOffLimit": role.max_retries}
    command = Source(app, [role.entrypoint, *role.args], {})
    made = manifest.job(name, command, role.image, ipus, role.num_replicas, 1, role.env, spec)
    made["metadata"]["annotations"] = {ROLE: role.name}
    return made


def _container(role: Role) -> Dict[str, Any]:
    resource = role.resource
    amounts = {"cpu": str(resource.cpu) if resource.cpu > 0 else "", "memory": f"{resource.memMB}M" if resource.memMB > 0 else ""}
    wanted = {key: value for key, value in amounts.items() if value}
    found = {
        "resources": {"requests": wanted, "limits": {key: value for key, value in wanted.items() if key == "memory"}} if wanted else {},
        "ports": [{"name": re.sub(r"[^a-z0-9]+", "-", name.lower())[:15].strip("-"), "containerPort": port}
                  for name, port in role.port_map.items()],
        "volumeMounts": [{"name": f"mount-{n}", "mountPath": mount.dst_path, "readOnly": mount.read_only}
                         for n, mount in enumerate(role.mounts) if isinstance(mount, (BindMount, VolumeMount))],
    }  # fmt: skip
    return {key: value for key, value in found.items() if value}


def _volume(number: int, mount: Any) -> Dict[str, Any]:
    if isinstance(mount, BindMount):
        return {"name": f"mount-{number}", "hostPath": {"path": mount.src_path}}
    if isinstance(mount, VolumeMount):
        return {"name": f"mount-{number}", "persistentVolumeClaim": {"claimName": mount.src}}
    raise ValueError(f"a job cannot mount the device {mount.src_path}: IPUs need no device mounts")
