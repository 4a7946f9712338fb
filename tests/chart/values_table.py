"""Reads the chart's values with their descriptions, their schema, and the values file with which all is different."""

import json
import re
from pathlib import Path

import yaml

CHART = Path(__file__).resolve().parents[2] / "charts" / "ipu-operator"
TEXT = (CHART / "values.yaml").read_text()
VALUES = yaml.safe_load(TEXT)
MAXIMAL = yaml.safe_load((Path(__file__).parent / "maximal.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VENDOR = yaml.safe_load((CHART / "vendor-values.yaml").read_text())


def described_values():
    """The (path, default, description) of every value that a "# -- " comment stands above, in order."""
    path, comment, found = [], [], []
    for line in TEXT.splitlines():
        stripped = line.strip()
        if stripped.startswith("# -- "):
            comment = [stripped[5:]]
        elif stripped.startswith("# ") and comment:
            comment.append(stripped[2:])
        elif match := re.match(r"( *)([A-Za-z]+):", line):
            path = path[: len(match[1]) // 2] + [match[2]]
            if comment:
                found.append((".".join(path), value_at(VALUES, path), " ".join(comment)))
            comment = []
    return found


def value_at(values, path):
    for key in path:
        values = values[key]
    return values


def leaf_paths(values, prefix=()):
    """The path of every value that is no mapping, or an empty one."""
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaf_paths(value, (*prefix, key))
        else:
            yield ".".join((*prefix, key))


def schema_at(path):
    """What the schema says of a value; nothing if it does not know it."""
    place = SCHEMA
    for key in path.split("."):
        place = resolved(place.get("properties", {}).get(key, {}))
    return place


def resolved(schema):
    name = schema.get("$ref", "").removeprefix("#/definitions/")
    return SCHEMA["definitions"][name] if name else schema


def schema_objects(schema=SCHEMA, prefix=()):
    """The path of every mapping whose keys the schema lists, and those keys."""
    schema = resolved(schema)
    if "properties" in schema:
        yield ".".join(prefix), schema
    for key, part in schema.get("properties", {}).items():
        yield from schema_objects(part, (*prefix, key))


def nested(path, value):
    """The values file that holds just this value."""
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


def merged(one, other):
    """Both values files in one, the other on top."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return other
    return {**one, **{key: merged(one[key], value) if key in one else value for key, value in other.items()}}
