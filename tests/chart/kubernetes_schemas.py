"""Kubernetes' own types as JSON schemas, one file for each kind, so that kubeconform needs no network.

They are stricter than what the API server says of itself: a field that it does not know is a mistake.
"""

import json

DEFINITION = "#/definitions/"
# Written as texts, and taken as numbers too.
LOOSE = {"type": ["string", "number"]}


def write(swagger, folder):
    """Makes a schema for each kind of the OpenAPI document, where LOCATION finds it."""
    definitions = json.loads(swagger.read_text())["definitions"]
    strict = {name: _strict(schema) for name, schema in definitions.items()}
    for name, schema in definitions.items():
        for kind in schema.get("x-kubernetes-group-version-kind", []):
            if not name.endswith("." + kind["kind"]):
                continue  # such as DeleteOptions, which are in every group
            group = kind["group"] or kind["version"]  # as kubeconform has it
            file = folder / f"{group}-{kind['version']}-{kind['kind']}.json".lower()
            file.write_text(json.dumps({"$ref": DEFINITION + name, "definitions": _needed(name, strict)}))


def location(folder):
    """What kubeconform is told to find them."""
    return f"{folder}/{{{{ .Group }}}}-{{{{ .ResourceAPIVersion }}}}-{{{{ .ResourceKind }}}}.json"


def _strict(schema):
    if schema.get("format") == "int-or-string" or schema.get("$ref", "").endswith(".Quantity"):
        return LOOSE
    made = {key: schema[key] for key in ("$ref", "type", "required") if key in schema}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            made[key] = _strict(schema[key])
    if "properties" in schema:
        made["properties"] = {name: _strict(part) for name, part in schema["properties"].items()}
        made["additionalProperties"] = False
    return made


def _needed(name, strict):
    """The definition and all that it refers to."""
    needed, left = {}, [name]
    while left:
        one = left.pop()
        if one not in needed:
            needed[one] = strict[one]
            left.extend(_references(strict[one]))
    return needed


def _references(schema):
    if isinstance(schema, list):
        for part in schema:
            yield from _references(part)
    elif isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].removeprefix(DEFINITION)
        for part in schema.values():
            yield from _references(part)
