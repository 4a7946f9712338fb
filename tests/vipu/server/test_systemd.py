"""The systemd unit: `systemctl status vipu-server` [D: seed 003]. Verified by systemd's own tool; its command is run."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from generic import Client
from programs import DEADLINE_S, ROOT, program, until


def install(prefix, destdir=None):
    """The unit and what belongs to it, and the program; what else there is may not be built."""
    build = ROOT / os.environ.get("BUILD_DIR", "build/dev")
    environment = {**os.environ, **({"DESTDIR": str(destdir)} if destdir else {})}
    done = subprocess.run(["cmake", "--install", build / "deploy/systemd", "--prefix", prefix], env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    place = Path(destdir or "/") / str(prefix).lstrip("/") / "bin"
    place.mkdir(exist_ok=True)
    shutil.copy(program("vipu-server"), place)


def settings(unit):
    """Key -> values, of the whole unit."""
    found = {}
    for key, value in re.findall(r"^(\w+)=(.*)$", unit.read_text(), re.MULTILINE):
        found.setdefault(key, []).append(value)
    return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    install(prefix)
    return prefix


@pytest.fixture
def unit(installed):
    return installed / "lib/systemd/system/vipu-server.service"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze on this machine")
def test_systemd_accepts_it(unit):
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=120)
    complaints = [line for line in (done.stdout + done.stderr).splitlines() if "vipu-server" in line]
    assert done.returncode == 0 and not complaints, complaints


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze on this machine")
def test_it_is_hardened(unit):
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", unit], capture_output=True, text=True, timeout=120)
    exposure = re.search(r"Overall exposure level for vipu-server.service: ([\d.]+)", done.stdout)
    assert exposure, done.stdout + done.stderr
    assert float(exposure[1]) <= 2.0


def test_its_command_serves_the_example(installed, unit, tmp_path):
    found = settings(unit)
    assert found["Description"] == ["V-IPU controller"] and found["DynamicUser"] == ["yes"]
    check, kill = found["ExecReload"]
    assert shlex.split(kill) == ["/bin/sh", "-c", "kill -HUP $MAINPID"]
    assert subprocess.run(shlex.split(check), timeout=DEADLINE_S).returncode == 0
    (tmp_path / "vipu-server").mkdir()
    words = shlex.split(found["ExecStart"][0].replace("%S", str(tmp_path)))
    log = tmp_path / "log"
    with open(log, "wb") as stderr:
        server = subprocess.Popen([*words, "--listen", "127.0.0.1:0"], stderr=stderr)
    try:
        port = until(lambda: re.search(r"user API.* port=(\d+)", log.read_text()), "it serves")[1]
        client = Client(f"127.0.0.1:{port}")
        assert len(client.attributes()) == 16
        client.close()
    finally:
        server.terminate()
        assert server.wait(DEADLINE_S) == 0
    assert (tmp_path / "vipu-server/vipu-server.db").is_file()


def test_where_things_go(tmp_path):
    """Below /usr the configuration is in /etc; one that is there is left alone."""
    config = tmp_path / "etc/vipu/vipu-server.yaml"
    install("/usr", destdir=tmp_path)
    text = (tmp_path / "usr/lib/systemd/system/vipu-server.service").read_text()
    assert "ExecStart=/usr/bin/vipu-server --config /etc/vipu/vipu-server.yaml " in text
    assert (tmp_path / "usr/share/doc/ipu-operator/vipu.md").is_file()
    config.write_text("# the admin's\n")
    install("/usr", destdir=tmp_path)
    assert config.read_text() == "# the admin's\n"
