"""Reads the chart's values with their descriptions, and keeps the table in its README equal to them.

    python tests/chart/values_table.py --write
"""

import json
import re
import sys
from pathlib import Path

import yaml

CHART = Path(__file__).resolve().parents[2] / "charts" / "ipu-operator"
README = CHART / "README.md"
BEGIN, END = "<!-- values: begin -->\n", "<!-- values: end -->\n"


def described_values(text):
    """The (path, default, description) of every value that a "# -- " comment stands above, in order."""
    values = yaml.safe_load(text)
    path, comment, found = [], [], []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("# -- "):
            comment = [stripped[5:]]
        elif stripped.startswith("# ") and comment:
            comment.append(stripped[2:])
        elif match := re.match(r"( *)([A-Za-z]+):", line):
            path = path[: len(match[1]) // 2] + [match[2]]
            if comment:
                found.append((".".join(path), value_at(values, path), " ".join(comment)))
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


def table():
    rows = ["| value | default | what it is |\n", "|---|---|---|\n"]
    for path, default, description in described_values((CHART / "values.yaml").read_text()):
        rows.append(f"| `{path}` | `{json.dumps(default)}` | {description} |\n")
    return "".join(rows)


def main():
    before, rest = README.read_text().split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(before + BEGIN + table() + END + after)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    main()
