"""The tree's Python, which no compiler reads: names that nothing defines, and names that nothing uses."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def programs():
    """Ruff finds modules itself, but not programs without a suffix."""
    for folder in ("deploy", "tests"):
        for file in (ROOT / folder).iterdir():
            if file.is_file() and not file.suffix:
                with file.open("rb") as begin:
                    if "python" in begin.readline(100).decode():
                        yield file


def check(*files, **kwargs):
    # F811, "redefinition", is what a pytest fixture looks like that is imported and used.
    return subprocess.run([sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select=F", "--ignore=F811",
                           "--output-format=concise", *files], cwd=ROOT, capture_output=True, text=True, **kwargs)  # fmt: skip


def test_every_name_is_defined_and_used():
    checked = check(".", *programs())
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_an_undefined_name_is_found():
    checked = check("-", input="def told():\n    return output()\n")
    assert checked.returncode == 1 and "F821 Undefined name `output`" in checked.stdout
