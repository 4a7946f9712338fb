"""docs/own-program.md, as somebody who follows it: with podman, the local cluster and a registry."""

import os
import sys

import kube
import pytest
from pages import blocks_at, pages_of
from podman import Podman
from registry import running_registry
from stack import SYSTEM

sys.path.append(str(kube.ROOT / "deploy" / "images"))

from container_images import build, recipe  # noqa: E402

BUILD = kube.ROOT / os.environ.get("BUILD_DIR", "build/release")


@pytest.fixture(scope="module")
def podman(tmp_path_factory):
    """With the public bases that the page names."""
    made = Podman(tmp_path_factory.mktemp("podman"))
    base = recipe.read(kube.ROOT / "tests" / "e2e" / "support" / "python-slim.toml")
    made("load", "--quiet", "--input", build.build(base, BUILD, "test"))
    made("tag", build.image_name(base, "test"), "docker.io/library/python:3.11-slim")
    made.busybox("docker.io/library/alpine:3.20", tmp_path_factory.mktemp("alpine"))
    yield made
    made.release()


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    with running_registry(tmp_path_factory.mktemp("registry")) as address:
        yield address


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", pages_of("image"))
def test_what_a_page_says_works(stack, reader, namespace, podman, registry, page):
    podman.allow_insecure(registry)
    types = reader(namespace.namespace, SYSTEM, **{
        "deploy/cluster load": f"deploy/cluster load --name {stack.name}", "registry.example.com": registry})
    types.environment |= {name: podman.environment[name] for name in podman.environment if name.startswith("CONTAINERS_")}
    types.environment["PATH"] = f"{BUILD / 'local'}:{types.environment['PATH']}"
    for block in blocks_at(page, "image"):
        types(block)
