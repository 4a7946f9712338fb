"""Every test that docs/behaviours.md names has to be there, every line of it has to name one or say why not, and no number of
the checklist is left out.

    python3 tests/arch/behaviours.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "behaviours.md"
ROW = re.compile(r"^\| ([B-D]?\d+[a-z]?) \| ([^|]+) \| ([^|]+) \|$")
TEST = re.compile(r"^(?:TEST(?:_F)?\((?:\w+, \w+, )?(\w+)\)|def (test_\w+)\()", re.MULTILINE)
WORLDS = re.compile(r"add_test\(NAME (sim[.a-z-]*\w)")
NOT_APPLYING = "Does not apply"
# The numbers of the checklist: jobs have none before theirs, then the Kubernetes client, API conventions, the chart.
NUMBERS = [f"{part}{n}" for part, count in (("", 106), ("B", 52), ("C", 13), ("D", 17)) for n in range(1, count + 1)]


def tests():
    found = set()
    for suffix in ("*.c", "*.py"):
        for path in (ROOT / "tests").rglob(suffix):
            found |= {name for pair in TEST.findall(path.read_text(errors="replace")) for name in pair if name}
    return found | set(WORLDS.findall((ROOT / "tests" / "sim" / "CMakeLists.txt").read_text()))


def complaints(page, known):
    seen = set()
    for number, line in enumerate(page.splitlines(), 1):
        if not re.match(r"^\| *[B-D]?\d", line):
            continue
        where = f"docs/behaviours.md:{number}"
        row = ROW.match(line)
        if not row:
            yield f"{where}: a line is | number | behaviour | tests |"
            continue
        if row[1] in seen:
            yield f"{where}: number {row[1]} stands there twice"
        seen.add(row[1])
        named = [name for name in re.findall(r"`([\w.-]+)`", row[3]) if "_" in name or name.startswith("sim.")]
        if not named and not row[3].startswith(NOT_APPLYING):
            yield f"{where}: name a test, or say that it \"{NOT_APPLYING}\" and why"
        yield from (f"{where}: there is no test {name}" for name in named if name not in known)
    yield from (f"docs/behaviours.md: there is no line {number}" for number in NUMBERS if number not in seen)


def main():
    broken = list(complaints(PAGE.read_text(), tests()))
    print("\n".join(broken))
    print(f"behaviours: {len(broken)} broken")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
