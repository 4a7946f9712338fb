"""Resource definitions that other projects publish with their Go modules: what the chart makes of their kinds has to be theirs.

A folder of deploy/local pins each module's version; nothing of it is built."""

import json

import yaml

from local_cluster.go_programs import sources

# Folder of deploy/local -> (module, where its definitions are).
MODULES = {
    "cert-manager": ("github.com/cert-manager/cert-manager", "deploy/crds/*.yaml"),
    "prometheus-operator": ("github.com/prometheus-operator/prometheus-operator", "example/prometheus-operator-crd/*.yaml"),
}
UNKNOWN = "x-kubernetes-preserve-unknown-fields"


def definitions(*kinds):
    """The definitions of these kinds."""
    found = {}
    for pins, (module, where) in MODULES.items():
        for file in sources(pins, module).glob(where):
            text = file.read_text()
            for kind in kinds:
                if f"\n    kind: {kind}\n" in text:
                    found[kind] = yaml.load(text, Loader=yaml.CSafeLoader)
    assert found.keys() == set(kinds), "a module publishes it no more"
    return list(found.values())


def write(folder, *kinds):
    """Makes a schema for kubeconform of each of these kinds, beside Kubernetes' own; a field that it does not have is a mistake."""
    for definition in definitions(*kinds):
        spec = definition["spec"]
        for version in spec["versions"]:
            schema = _strict(version["schema"]["openAPIV3Schema"])
            schema["properties"] |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
            file = folder / f"{spec['group']}-{version['name']}-{spec['names']['kind']}.json".lower()
            file.write_text(json.dumps(schema))


def _strict(schema):
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["string", "integer"]}
    made = {key: schema[key] for key in ("type", "required", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength",
                                         "minItems", "maxItems") if key in schema}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            made[key] = _strict(schema[key])
    if "properties" in schema:
        made["properties"] = {name: _strict(part) for name, part in schema["properties"].items()}
        if not schema.get(UNKNOWN):
            made["additionalProperties"] = False
    return made
