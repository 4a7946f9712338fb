"""The programs that go into pods bring everything with them: a pod's image may hold any C library, or none."""

import os
import shutil
import subprocess

import pytest

from programs import DEADLINE_S, ROOT, program


def is_sanitized():
    cache = ROOT / os.environ.get("BUILD_DIR", "build/dev") / "CMakeCache.txt"
    return "-fsanitize" in cache.read_text()


@pytest.mark.skipif(is_sanitized(), reason="sanitizers' run times do not link statically")
@pytest.mark.parametrize("name", ["vipu", "gc-info", "gc-monitor"])
def test_no_loader_is_asked_for(name):
    read = subprocess.run(["readelf", "--program-headers", "--dynamic", "--wide", program(name)], capture_output=True, text=True,
                          check=True).stdout
    # A static program that is position-independent has a dynamic section, which names no library.
    assert "INTERP" not in read and "(NEEDED)" not in read, f"{name} is dynamic: run deploy/static-libraries, configure anew"


@pytest.mark.skipif(is_sanitized(), reason="sanitizers' run times do not link statically")
def test_an_empty_image(serve, tmp_path):
    """Names are looked up, calls are made and files are written with nothing else in the file system."""
    server = serve("create-ms: 0\nclusters: [{id: cl1}]")
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "hosts").write_text("127.0.0.1 controller.example\n")
    (root / "etc" / "nsswitch.conf").write_text("hosts: files\n")
    (root / "home").mkdir()
    shutil.copy(program("vipu"), root / "vipu")
    enter = ["unshare", "--map-root-user", "--root", str(root)]
    allowed = subprocess.run([*enter, "/vipu", "--version"], capture_output=True, text=True, timeout=DEADLINE_S)
    if "unshare failed" in allowed.stderr or "Operation not permitted" in allowed.stderr:
        pytest.skip("this user may not have a root directory of his own here")
    assert allowed.returncode == 0, allowed.stderr
    done = subprocess.run([*enter, "/vipu", "-H", "controller.example", "-P", str(server.port), "create", "partition", "p1",
                           "--size", "4"], capture_output=True, text=True, timeout=DEADLINE_S, env={"HOME": "/home"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "create partition (p1): success.\n", "")
    assert (root / "home" / ".ipuof.conf.d" / "p1_ipuof.conf").is_file()
    # The file that is read when none is named: `/etc/vipu/vipu-cli.hcl` [D/S].
    (root / "etc" / "vipu").mkdir()
    (root / "etc" / "vipu" / "vipu-cli.hcl").write_text(f'api-host="controller.example"\napi-port="{server.port}"\n')
    done = subprocess.run([*enter, "/vipu", "--server-version"], capture_output=True, text=True, timeout=DEADLINE_S, env={})
    assert done.stdout == f"version: 1.18.0\nhost: controller.example:{server.port}\n", done.stderr
