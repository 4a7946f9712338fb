"""The commands that the documentation says are run, as they stand there: blocks that begin with "```sh run". One that begins
with "```sh run fails" has to fail."""

import os
import re
import subprocess

import kube
import pytest

PAGES = sorted(page for page in (kube.ROOT / "docs").glob("*.md") if "\n```sh run" in page.read_text())
BLOCK = re.compile(r"^```sh run( fails)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def reader(stack, namespace, tmp_path):
    """Runs what somebody types whose kubectl is set to the test's namespace."""
    kubeconfig = tmp_path / "kubeconfig"
    environment = os.environ | {"KUBECONFIG": str(kubeconfig), "PATH": stack.path()}
    kubeconfig.write_text(stack.kubectl("config", "view", "--raw", "--flatten"))
    kube.run(namespace.program, "config", "set-context", "--current", "--namespace", namespace.namespace, env=environment)

    def types(commands):
        return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", commands], cwd=kube.ROOT, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)

    return types


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_says_works(reader, page):
    for fails, commands in BLOCK.findall(page.read_text()):
        done = reader(commands)
        assert (done.returncode != 0) == bool(fails), f"{commands}\n{done.stdout}{done.stderr}"


def test_there_are_pages_to_try():
    assert "first-job" in {page.stem for page in PAGES}
