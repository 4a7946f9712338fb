"""Reasons in the operator's code and rows of its table (operator/api/reasons.c) are the same words: one that is given
and has no row is undocumented, and a row that the code never uses is wrong. Each is named in a test, too: one that no
test knows may never be told.

    python3 tests/arch/reasons.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "operator" / "api" / "reasons.c"
ROW = re.compile(r'^    \{"(\w+)",\s*REASON_', re.MULTILINE)
LITERAL = re.compile(r'"([A-Z][A-Za-z]+)"')
TESTS = ("test_*.c", "test_*.py")
# Where a reason is given: these words stand before it in the same statement.
GIVEN = (
    r"instance_set_result\(\s*\w+,\s*INSTANCE_\w+,\s*",
    r"\breason = (?:[^;,]*[?:] )?",
    r"plan_event\(\s*plan,\s*",
    r"\bend\(v, JOB_\w+,\s*",
    r"response_reject\(\s*\w+,\s*",
)


def sources():
    return [path for path in sorted((ROOT / "operator").rglob("*.c")) if path != TABLE]


def named_in_tests():
    found = set()
    for pattern in TESTS:
        for path in (ROOT / "tests").rglob(pattern):
            found |= set(LITERAL.findall(path.read_text()))
    return found


def complaints():
    rows = set(ROW.findall(TABLE.read_text()))
    literals, unused = set(), set(GIVEN)
    for path in sources():
        text = path.read_text()
        literals |= set(LITERAL.findall(text))
        for pattern in GIVEN:
            words = re.findall(pattern + LITERAL.pattern, text)
            unused -= {pattern} if words else set()
            for word in words:
                if word not in rows:
                    yield f"{path.relative_to(ROOT)}: reason {word} has no row in operator/api/reasons.c"
    yield from (f"tests/arch/reasons.py: the pattern {pattern} matches nothing" for pattern in sorted(unused))
    yield from (f"operator/api/reasons.c: no code uses the reason {row}" for row in sorted(rows - literals))
    yield from (f"operator/api/reasons.c: no test names the reason {row}" for row in sorted(rows - named_in_tests()))


def main():
    broken = list(complaints())
    print("\n".join(broken))
    print(f"reasons: {len(broken)} broken")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
