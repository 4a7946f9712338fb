"""Objects from a YAML file."""

import importlib
from typing import Any, Dict, List

from .errors import IpuJobsError

SIZE_MAX = 3 << 20  # etcd takes objects of 1.5 MiB
VALUES_MAX = 200_000


def read(path: str) -> List[Dict[str, Any]]:
    yaml: Any = importlib.import_module("yaml")  # late: it comes with kubernetes

    try:
        with open(path, "rb") as file:
            text = file.read(SIZE_MAX + 1)
        if len(text) > SIZE_MAX:
            raise IpuJobsError(f"{path} is larger than {SIZE_MAX >> 20} MiB")
        objects = [each for each in yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if each is not None]
        is_bomb = count(objects, VALUES_MAX) > VALUES_MAX
    except OSError as error:
        raise IpuJobsError(f"cannot read {path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise IpuJobsError(f"{path} is not valid YAML: {error}") from error
    if is_bomb:
        raise IpuJobsError(f"{path} expands to more than {VALUES_MAX} values; remove its YAML aliases")
    return objects


def count(value: Any, limit: int) -> int:
    """The values below it, as often as aliases repeat them; stops above the limit."""
    found = 1
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if found > limit:
            break
        found += count(each, limit - found)
    return found
