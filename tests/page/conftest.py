"""What the tests of the live page share: Debian's Chromium, a server that plays the feed, and what a page must never do."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "lib"), str(ROOT / "tests" / "page")]

from playwright.sync_api import sync_playwright  # noqa: E402

import played  # noqa: E402
from waiting import until  # noqa: E402

CHROMIUM = shutil.which("chromium")
OPTIONS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
# The page is the project's own, and tests run as root, with which Chromium's sandbox does not start.
SANDBOX = ["--no-sandbox"]


@pytest.fixture(scope="session")
def packages():
    """The folder of the npm packages."""
    return Path(subprocess.run([ROOT / "deploy" / "prerequisites", "page"], capture_output=True, text=True, check=True).stdout.strip())


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS + SANDBOX)
        yield browser
        browser.close()


@pytest.fixture
def server():
    server = played.Server()
    yield server
    server.stop()


class Viewer:
    """A page in a browser, and what went wrong in it."""

    def __init__(self, browser, server, **options):
        self.server, self.errors = server, []
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.page.add_init_script("window.violations = []; addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective + ' ' + e.blockedURI))")
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.errors.append(f"request to {request.url}") if not request.url.startswith((server.url, "data:")) else None)

    def open(self, route=""):
        self.page.goto(self.server.url + route)
        self.sees("Live")
        return self

    def text(self):
        return self.page.inner_text("body")

    def sees(self, *words):
        until(lambda: all(word in self.text() for word in words), lambda: f"the page shows {words}", seconds=30, tell=self.text)
        return self

    def sees_no(self, *words):
        until(lambda: not any(word in self.text() for word in words), lambda: f"the page no longer shows {words}", seconds=30, tell=self.text)
        return self

    def close(self):
        self.errors += self.page.evaluate("violations")
        self.context.close()


@pytest.fixture
def viewer(browser, server):
    """Makes viewers; none of them may have had an error that the test does not take out of `errors`."""
    viewers = []

    def make(**options):
        viewers.append(Viewer(browser, server, **options))
        return viewers[-1]

    yield make
    for one in viewers:
        one.close()
    assert [one.errors for one in viewers] == [[]] * len(viewers)
