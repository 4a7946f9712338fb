"""What the tests of the live page share: Debian's Chromium, a server that plays the feed, and what a page must never do."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "lib"), str(ROOT / "tests" / "page")]

import browser as browsers  # noqa: E402
import played  # noqa: E402


@pytest.fixture(scope="session")
def packages():
    """The folder of the npm packages."""
    return Path(subprocess.run([ROOT / "deploy" / "prerequisites", "page"], capture_output=True, text=True, check=True).stdout.strip())


@pytest.fixture(scope="session")
def browser():
    with browsers.chromium() as browser:
        yield browser


@pytest.fixture
def server():
    server = played.Server()
    yield server
    server.stop()


@pytest.fixture
def viewer(browser, server):
    """Makes viewers; none of them may have had an error that the test does not take out of `errors`."""
    viewers = []

    def make(**options):
        viewers.append(browsers.Viewer(browser, server.url, **options))
        return viewers[-1]

    yield make
    for one in viewers:
        one.close()
    assert [one.errors for one in viewers] == [[]] * len(viewers)
