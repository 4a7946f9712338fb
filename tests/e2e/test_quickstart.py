"""The first command of the README, as a new user types it. Its cluster is called local too, but lives in a folder of
the test's own: one that the developer has up is left alone."""

import os
import re
import subprocess

import kube
import pytest
from pages import Reader, blocks_at, missing_from, pages_of

QUICKSTART = kube.ROOT / "deploy" / "quickstart"


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def quickstart(state):
    def run(*words, **environment):
        return subprocess.run([QUICKSTART, *words], capture_output=True, text=True, timeout=1200, stdin=subprocess.DEVNULL,
                              env=os.environ | {"XDG_STATE_HOME": str(state)} | environment)

    yield run
    assert run("down").returncode == 0
    assert not list(state.glob("ipu-operator/*/cluster.json"))


def check_story(done):
    assert done.returncode == 0, done.stdout + done.stderr
    stages = re.findall(r"^\[(\d)/8\] .* \(about .*\)$", done.stdout, re.M)
    assert stages == list("12345678")
    # The example is so quick that a look may miss that it runs.
    reported = re.findall(r"^ +[\d.]+ s  (\w+) +\S", done.stdout, re.M)
    assert len(reported) > 1 and set(reported) <= {"Pending", "Starting", "Running", "Completed"}
    assert re.search(r"^ +[\d.]+ s  Completed  All instances done$", done.stdout, re.M)
    assert re.search(r"^epoch 12/12  loss 0\.\d+  accuracy 0\.9\d+$", done.stdout, re.M)
    # Without the cluster first, with the same result.
    assert re.search(r"^      \[0\.0\] epoch 12/12  loss 0\.\d+  accuracy 0\.9\d+$.*^\[4/8\]", done.stdout, re.M | re.S)


def check_pages(done, types):
    """What README runs and shows, and how the page of the first job goes on."""
    assert pages_of("quickstart") == ["README.md", "docs/getting-started.md"]
    commands, session = blocks_at("README.md", "quickstart")
    assert re.findall(r"^([\w/]+(?: --\w+)?)", commands.text, re.M) == ["deploy/quickstart --local", "deploy/quickstart", "tests/run"], \
        "the first two are run here, by the last"
    (first, shown), *others = session.session
    reported = re.sub(r"^ +[\d.]+ s  .*\n", "", shown, flags=re.M)  # a look may miss each of these
    assert first == "deploy/quickstart" and reported.count("\n") > 10 and missing_from(done.stdout, reported) == ""
    (setting,) = blocks_at("docs/getting-started.md", "quickstart")
    for command, shown in others:
        assert missing_from(types.types(f"{setting.script}{command}").stdout, shown) == ""


@pytest.mark.timeout(1800)
def test_from_nothing_to_a_completed_job_and_again(quickstart, state, tmp_path):
    first = quickstart()
    check_story(first)

    # The commands to try next work when they are copied.
    suggested = first.stdout.split("Try next:\n")[1].splitlines()
    script = "\n".join(line for line in suggested if "deploy/quickstart" not in line)
    tried = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, timeout=600, cwd=kube.ROOT,
                           stdin=subprocess.DEVNULL)
    assert tried.returncode == 0, tried.stderr
    assert "[pod/digits-worker-0/digits] epoch" in tried.stdout
    assert "ipujob.graphcore.ai/digits condition met" in tried.stdout

    again = quickstart()
    check_story(again)
    assert "deleting the digits job of an earlier run" in again.stdout
    check_pages(again, Reader(tmp_path, os.environ | {"XDG_STATE_HOME": str(state)}))


def test_a_first_result_without_a_cluster(quickstart, state):
    before = sorted(state.glob("*/*"))
    done = quickstart("--local")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"^\[(\d)/3\]", done.stdout, re.M) == list("123")
    assert re.search(r"^      \[0\.0\] done: accuracy 9\d\.\d% on the test images$", done.stdout, re.M)
    assert sorted(state.glob("*/*")) == before


def as_installed(stack):
    """Without what becomes of it: pods come and go."""
    return [(thing["spec"], [thing["metadata"].get(key) for key in ("uid", "labels", "annotations", "generation")])
            for thing in stack.system.items("deployments")]


def test_what_others_installed_is_left_alone(stack, quickstart):
    before = as_installed(stack)
    done = quickstart("--context", stack.context, KUBECONFIG=stack.kubectl.kubeconfig, PATH=stack.path())
    assert done.returncode == 1
    assert "has a Helm release ipu-operator that quickstart did not create" in done.stderr
    assert "deploy/image push ipu-operator PREFIX" in done.stdout
    assert as_installed(stack) == before


@pytest.mark.parametrize("words, complaint", [
    (["--foo"], "Unrecognized arguments: --foo"),
    (["sideways"], "invalid choice: 'sideways'"),
    (["--image-registry", "r.example.com/team"], "--image-registry requires an existing cluster"),
    (["down", "--context", "ipu-e2e", "--image-registry", "r.example.com"], "--image-registry does not apply to down"),
    (["--local", "--context", "nowhere"], "--local starts no cluster"),
    (["--context", "nowhere"], "Context 'nowhere' not found"),
])
def test_a_wrong_word_gets_one_sentence(stack, quickstart, words, complaint):
    done = quickstart(*words, KUBECONFIG=stack.kubectl.kubeconfig, PATH=stack.path())
    assert done.returncode == 1
    assert done.stdout == ""
    assert complaint in done.stderr
    assert done.stderr.startswith("deploy/quickstart: ") and done.stderr.count("\n") == 1
