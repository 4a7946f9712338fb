"""The objects of a job, as the Kubernetes API takes them. Pure, but for unique_name()."""

import base64
import re
import secrets
from typing import Any, Dict, List, Mapping, Optional

from .errors import IpuJobsError
from .source import FOLDER, Source

Object = Dict[str, Any]

API_VERSION = "graphcore.ai/v1alpha1"
NAME_MAX = 63
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' own, which spells no words
CONTAINER = "main"
VOLUME = "job-source"


def unique_name(word: str) -> str:
    return name_of(word, "".join(secrets.choice(ALPHABET) for _ in range(5)))


def name_of(word: str, suffix: str) -> str:
    """A name for Kubernetes from a file's or a function's."""
    base = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[: NAME_MAX - len("-worker-99999-") - len(suffix)].strip("-")
    return f"{base or 'job'}-{suffix}"


def job(name: str, source: Source, image: str, ipus: int, workers: int, instances: int, env: Mapping[str, str],
        spec: Mapping[str, Any]) -> Object:  # fmt: skip
    for option, value in (("env", env), ("spec", spec)):
        if not isinstance(value, Mapping):
            raise IpuJobsError(f"{option} must be a dict, got {value!r}")
    container: Object = {"name": CONTAINER, "image": image, "command": source.command}
    if env:
        container["env"] = [{"name": key, "value": _text(key, value)} for key, value in env.items()]
    pod: Object = {"containers": [container]}
    if source.files:
        container["volumeMounts"] = [{"name": VOLUME, "mountPath": FOLDER, "readOnly": True}]
        items = [{"key": _key(number), "path": path} for number, path in enumerate(source.files)]
        pod["volumes"] = [{"name": VOLUME, "configMap": {"name": source_name(name), "items": items}}]
    whole = {"jobInstances": instances, "ipusPerJobInstance": str(ipus), "workers": {"replicas": workers, "template": {"spec": pod}}}
    return {"apiVersion": API_VERSION, "kind": "IPUJob", "metadata": {"name": name}, "spec": merged(whole, spec)}


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise IpuJobsError(f"env: the value of {name} must be a string, got {value!r}; convert it with str()")
    return value


def source_name(job_name: str) -> str:
    return f"{job_name}-source"


def _key(number: int) -> str:
    """Keys of a ConfigMap cannot contain slashes."""
    return f"file-{number}"


def config_map(job_name: str, source: Source) -> Object:
    data: Dict[str, str] = {}
    binary: Dict[str, str] = {}
    for number, content in enumerate(source.files.values()):
        try:
            data[_key(number)] = content.decode()
        except UnicodeDecodeError:
            binary[_key(number)] = base64.b64encode(content).decode()
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": source_name(job_name)}, "immutable": True,
            "data": data, "binaryData": binary}  # fmt: skip


def owned(child: Object, owner: Object) -> Object:
    """The child, which Kubernetes deletes when its owner is gone."""
    metadata = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return {**child, "metadata": {**child["metadata"], "ownerReferences": [reference]}}


def merged(base: Any, over: Any) -> Any:
    """Both, and `over` where they differ. Lists of things with names are merged by name."""
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        return {**base, **{key: merged(base[key], value) if key in base else value for key, value in over.items()}}
    if _is_named(base) and _is_named(over):
        mine = {item["name"]: item for item in base}
        return list({**mine, **{item["name"]: merged(mine.get(item["name"], {}), item) for item in over}}.values())
    return over


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) and "name" in item for item in value)


def only_job(objects: List[Object], where: str) -> Object:
    if not all(isinstance(each, dict) and isinstance(each.get("metadata"), dict) for each in objects):
        raise IpuJobsError(f"{where} contains something else than Kubernetes objects with metadata")
    jobs = [each for each in objects if each.get("kind") == "IPUJob"]
    others = sorted({str(each.get("kind")) for each in objects} - {"IPUJob", "ConfigMap", "Secret"})
    if others:
        raise IpuJobsError(f"{where} contains a {others[0]}; only an IPUJob and its ConfigMaps and Secrets can be applied here")
    if len(jobs) != 1:
        raise IpuJobsError(f"{where} must contain one IPUJob, got {len(jobs)}")
    return jobs[0]


def pod_name(job_object: Object, worker: Optional[int], instance: int) -> str:
    """The pod whose log is asked for: that of a worker, else the launcher's, else the first worker's of the instance."""
    name, spec = job_object["metadata"]["name"], job_object["spec"]
    if worker is None and spec.get("launcher") is not None:
        return f"{name}-launcher" + (f"-{instance}" if instance else "")
    workers = int(spec.get("workersPerJobInstance") or spec["workers"].get("replicas") or 1)
    return f"{name}-worker-{instance * workers + (worker or 0)}"
