"""Debian's Chromium for tests of the live page, and what a page must never do in it."""

import contextlib
import shutil

from playwright.sync_api import sync_playwright
from waiting import until

CHROMIUM = shutil.which("chromium")
OPTIONS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
# The page is the project's own, and tests run as root, with which Chromium's sandbox does not start.
SANDBOX = ["--no-sandbox"]


@contextlib.contextmanager
def chromium():
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS + SANDBOX)
        yield started
        started.close()


class Viewer:
    """A page in a browser, and what went wrong in it."""

    def __init__(self, browser, url, **options):
        self.url, self.errors = url, []
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.page.add_init_script("window.violations = []; addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective + ' ' + e.blockedURI))")
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.errors.append(f"request to {request.url}") if not request.url.startswith((url, "data:")) else None)

    def open(self, route=""):
        self.page.goto(self.url + route)
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
