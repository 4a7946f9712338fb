"""Pushing to a real registry."""

import json
import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "lib"))

from pages import Reader, blocks_at, pages_of  # noqa: E402
from registry import running_registry  # noqa: E402

IMAGE = ROOT / "deploy" / "image"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answer(address):
    with urllib.request.urlopen(address, timeout=5) as reply:
        return json.load(reply)


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    with running_registry(tmp_path_factory.mktemp("registry")) as address:
        yield address


@pytest.fixture
def launcher(tmp_path):
    """A build folder with something under the names of the launcher's programs."""
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    for name in ["ipu-launch", "ipu-tools", "ipu-nopty.so"]:
        subprocess.run(["gcc", "-static", "-o", tmp_path / name, tmp_path / "main.c"], check=True)
    return tmp_path


def push(launcher, *where):
    return subprocess.run([IMAGE, "push", "ipu-launch", "--build-dir", launcher, "--tag", "test", "--insecure", *where],
                          capture_output=True, text=True, timeout=120,
                          env={**os.environ, "XDG_CACHE_HOME": str(launcher / "cache")})


def test_a_pushed_image_is_where_the_chart_looks_for_it(registry, launcher):
    done = push(launcher, f"{registry}/team/")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{registry}/team/ipu-operator/ipu-launch:test"
    assert answer(f"http://{registry}/v2/team/ipu-operator/ipu-launch/tags/list")["tags"] == ["test"]


def test_a_registry_that_is_down_is_named(launcher):
    address = f"127.0.0.1:{free_port()}"
    done = push(launcher, address)
    assert done.returncode == 1
    assert f"Cannot push the image to {address}/ipu-operator/ipu-launch:test" in done.stderr


@pytest.mark.parametrize("page", pages_of("registry"))
def test_what_a_page_says_works(registry, tmp_path, page):
    """To a registry without TLS, which a file of the reader's allows."""
    settings = tmp_path / ".config" / "containers" / "registries.conf"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[[registry]]\nlocation = "{registry}"\ninsecure = true\n')
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    types = Reader(tmp_path, os.environ | {"HOME": str(tmp_path), "XDG_CACHE_HOME": cache}, **{"registry.example.com": registry})
    for block in blocks_at(page, "registry"):
        types(block)
    for name in ("ipu-operator", "ipu-launch"):
        assert "0.1.0" in answer(f"http://{registry}/v2/team/ipu-operator/{name}/tags/list")["tags"]
