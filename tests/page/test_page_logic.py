"""What the page decides, without a browser: each file of tests/page/logic, by Node.js."""

import subprocess
from pathlib import Path

import pytest

LOGIC = Path(__file__).parent / "logic"


@pytest.mark.parametrize("file", sorted(LOGIC.glob("*.test.mjs")), ids=lambda file: file.stem)
def test_logic(file):
    done = subprocess.run(["node", "--test", "--test-reporter=tap", file], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "# pass 0" not in done.stdout, done.stdout + done.stderr
