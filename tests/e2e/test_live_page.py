"""kubectl ipu ui in a browser, with real pods."""

import subprocess

import browser
import pytest
from jobs import job


@pytest.fixture
def page_url(stack, namespace):
    """Of a page that is served until the test ends; it can be opened once."""
    with subprocess.Popen([stack.plugin(), "ui", "-n", namespace.namespace, "--kubeconfig", stack.kubectl.kubeconfig],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as serving:
        yield next(line.split()[-1] for line in serving.stdout if "http://" in line)
        serving.terminate()


def test_the_page_follows_a_job_to_its_end_and_over_a_crash_of_the_operator(stack, namespace, start, page_url):
    server, token = page_url.split("login")
    with browser.chromium() as chromium:
        viewer = browser.Viewer(chromium, server)
        viewer.open(f"login{token}").sees("64 of 64 IPUs free")
        made = start(job("seen", 'echo "rank $RANK sees \x1b[31mred"; until [ -e /tmp/go ]; do sleep 0.2; done', workersPerJobInstance="2"))
        made.wait_for_state("Running")
        viewer.sees("60 of 64 IPUs free", f"jobs of namespace {namespace.namespace}")
        viewer.open(f"#/job/{namespace.namespace}/seen").sees("1 of 1 instance", "seen-worker-1", r"[0.0] rank 0 sees \x1b[31mred", "[0.1] rank 1 sees")
        stack.kill_operator()
        for number in range(2):
            namespace("exec", f"seen-worker-{number}", "--", "touch", "/tmp/go")
        made.wait_for_state("Completed")
        viewer.sees("Completed")
        viewer.close()
    assert viewer.errors == []
