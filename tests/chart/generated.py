"""The texts that are made from the chart, and renewed by

    $(deploy/prerequisites python)/bin/python tests/chart/generated.py

tests/chart/test_generated.py compares them. Read what `git diff` shows before you commit it.
"""

import json
import re

from renders import GOLDEN, programs, render
from values_table import CHART, VENDOR, described_values

ROOT = CHART.parents[1]
MANIFEST_HEAD = """\
# The operator without Helm: what the chart renders with its default values, in namespace ipu-operator, for Kubernetes 1.30
# or newer.
#
#   kubectl apply --server-side -f deploy/manifests/ipu-operator.yaml
#
# V-IPU controllers go into the ConfigMap ipu-operator-vipu-controllers below. docs/install.md has more.
apiVersion: v1
kind: Namespace
metadata:
  name: ipu-operator
---
"""


def values_rows():
    rows = ["| value | default | what it is |\n", "|---|---|---|\n"]
    for path, default, description in described_values():
        rows.append(f"| `{path}` | `{json.dumps(default)}` | {description} |\n")
    return "".join(rows)


def vendor_rows():
    rows = ["| value of the vendor's chart | here |\n", "|---|---|\n"]
    for row in VENDOR:
        if "rejected" not in row:
            here = f"works{': ' + row['now'] if 'now' in row else ''}"
        elif "use" in row:
            here = f"`{row['use']}`: {row['rejected']}"
        else:
            here = f"rejected: {row['rejected']}"
        rows.append(f"| `{row['value']}` | {here} |\n")
    return "".join(rows)


# (file, name of the part between its marks) -> what makes it
PARTS = {
    (CHART / "README.md", "values"): values_rows,
    (ROOT / "docs" / "configuration.md", "vendor values"): vendor_rows,
}


def golden(name):
    """The definitions, which a ConfigMap carries, have files of their own to be reviewed in."""
    carried = re.compile(r"^(  (\w+\.graphcore\.ai\.yaml): \|\n)(?:    .*\n|\n)+", re.M)
    return lambda helm: carried.sub(r"\1    (crds/\2)\n", render(helm, GOLDEN[name]))


def manifest(helm):
    """Without what only Helm's own objects have."""
    rendered = render(helm, {}, "--no-hooks", namespace="ipu-operator")
    rendered = re.sub(r"^(# Source: .*| *helm\.sh/chart: .*| *app\.kubernetes\.io/managed-by: .*)\n", "", rendered, flags=re.M)
    definitions = "---\n".join(path.read_text() for path in sorted((CHART / "crds").glob("*.yaml")))
    return MANIFEST_HEAD + definitions + rendered


# file -> what Helm makes it with
FILES = {
    **{ROOT / "tests" / "golden" / "chart" / f"{name}.yaml": golden(name) for name in GOLDEN},
    ROOT / "deploy" / "manifests" / "ipu-operator.yaml": manifest,
}


def with_part(text, name, part):
    """The text with what stands between <!-- NAME: begin --> and <!-- NAME: end --> replaced."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    new, count = re.subn(f"{re.escape(begin)}.*{re.escape(end)}", lambda _: begin + part + end, text, flags=re.DOTALL)
    assert count == 1, f"the marks of {name} are not there once"
    return new


def main():
    for (file, name), make in PARTS.items():
        file.write_text(with_part(file.read_text(), name, make()))
    helm = f"{programs()}/helm"
    for file, make in FILES.items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(make(helm))


if __name__ == "__main__":
    main()
