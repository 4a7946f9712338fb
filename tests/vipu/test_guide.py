"""The commands of docs/vipu.md do what the page says, as one script from its beginning to its end."""

import os
import re
import socket
import subprocess

from pages import blocks_at, pages_of
from programs import ROOT, program


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_the_guide(tmp_path):
    page = (ROOT / "docs" / "vipu.md").read_text()
    assert pages_of("vipu") == ["docs/vipu.md"]
    blocks = [block.script for block in blocks_at("docs/vipu.md", "vipu")]
    assert len(blocks) >= 5
    # `&& exit 1` marks what must be rejected; everything else must succeed.
    script = "set -eo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + "\n".join(blocks)
    script = script.replace("| head", "2>/dev/null | head").replace("18090", str(free_port())).replace("18091", str(free_port()))
    binaries = os.path.dirname(program("vipu"))
    result = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=900,
                            env={"PATH": f"{binaries}:{os.environ['PATH']}", "HOME": str(tmp_path)})
    assert result.returncode == 0, result.stdout + result.stderr
    assert "configuration is valid" in result.stdout
    assert "2xPOD64 | small      | p2        | 1    | DEFAULT    | DNC         | 4    | 2    | ACTIVE" in result.stdout
    rejection = re.search(r"^```text\n(not enough free IPUs: 64 IPUs.*)\n```", page, re.MULTILINE)[1]
    assert f"create partition (p4): failed: {rejection}" in result.stderr
    for part in ("size 6 is not a power of two", 'allocation "elsewhere" not found'):
        assert part in result.stderr
    for part in ("UNAUTHENTICATED", "unknown authority"):
        assert part in result.stderr
    assert result.stdout.count("remove partition (p") == 6
    for part in ("agent ag2: fans have stopped", '"seed"'):
        assert part in result.stdout
    for part in ("fans have stopped", "injected fault", "no clock on the sync links"):
        assert part in result.stderr
    assert list((tmp_path / ".ipuof.conf.d").iterdir()) == []
