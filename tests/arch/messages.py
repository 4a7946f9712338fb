"""What the operator warns of in its log is found in docs/troubleshooting.md, in the same words.

    python3 tests/arch/messages.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
ROOMS = ("operator", "vipu/client", "vipu/wire", "base")
LINE = re.compile(r'\blog_(?:warn|error)\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')


def messages():
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.c")):
            for literals in LINE.findall(path.read_text()):
                yield path, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals))


def main():
    page = PAGE.read_text()
    found = set(messages())
    missing = sorted(f"{path.relative_to(ROOT)}: not in docs/troubleshooting.md: {text}" for path, text in found
                     if f"`{text}`" not in page)
    print("\n".join(missing))
    print(f"messages: {len(found)} read, {len(missing)} missing")
    return bool(missing) or not found


if __name__ == "__main__":
    sys.exit(main())
