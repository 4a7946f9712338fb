"""Tests that run in several worker processes at a time (pytest-xdist), each with a cluster of its own. Without -n one process
runs all of them, in order."""

import hashlib
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest
from local_cluster import paths

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = "workers"
FOLDER = "shared_folder"
SILENCE_S = 15 * 60
PAUSE_S = 0.2


def name():
    """Of this worker process, such as gw1; "" when there is only one."""
    return os.environ.get("PYTEST_XDIST_WORKER", "")


def number():
    return int(name().removeprefix("gw") or 0)


def cluster_name(kind):
    """The cluster of this worker. The next run uses the same name, and so removes what a killed run left; another checkout uses
    another one."""
    checkout = hashlib.sha256(os.fsencode(ROOT)).hexdigest()[:6]
    return "-".join(filter(None, [kind, checkout, name()]))


def register(config):
    """To be called by pytest_configure of a conftest.py."""
    if not config.pluginmanager.has_plugin(PLUGIN):
        config.pluginmanager.register(Workers(config), PLUGIN)


def of(config):
    return config.pluginmanager.get_plugin(PLUGIN)


class Workers:
    """The plugin. All workers of a run share a folder, in which each notes the tests that have ended and where its audit log is."""

    def __init__(self, config):
        config.addinivalue_line("markers", "last: runs after all other tests have ended, in whatever worker")
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        self._input = getattr(config, "workerinput", None)
        self._runs_tests = self._input or not config.getoption("numprocesses", None)
        if self._input:
            self._folder = Path(self._input[FOLDER])
        else:
            paths.state_home().mkdir(parents=True, exist_ok=True)
            self._folder = Path(tempfile.mkdtemp(prefix="tests-", dir=paths.state_home()))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        node.workerinput[FOLDER] = str(self._folder)

    def pytest_unconfigure(self):
        if not self._input:
            shutil.rmtree(self._folder)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        """Tests that share a fixture of their file run in one worker, one after the other."""
        items.sort(key=lambda item: item.get_closest_marker("last") is not None)
        sharing = {item.path for item in items if _shares(item)}
        for item in items:
            if item.path in sharing and not item.get_closest_marker("xdist_group") and not item.get_closest_marker("last"):
                item.add_marker(pytest.mark.xdist_group(item.path.stem))

    def pytest_runtest_logreport(self, report):
        if self._runs_tests and (report.when == "teardown" or report.failed):
            with (self._folder / f"ended-{name()}").open("a") as stream:
                stream.write(json.dumps([report.nodeid, report.failed]) + "\n")

    def pytest_runtest_setup(self, item):
        if item.get_closest_marker("last"):
            self._wait_for_all_but(item)

    def _wait_for_all_but(self, last):
        """A worker that was killed never tells of its test: when no test ends for long, it is not waited for any more."""
        wanted = {item.nodeid for item in last.session.items if not item.get_closest_marker("last")}
        before, since = 0, time.monotonic()
        while missing := wanted - set(ended := self._ended()):
            if len(ended) > before:
                before, since = len(ended), time.monotonic()
            assert time.monotonic() - since < SILENCE_S, f"these tests do not end: {sorted(missing)}"
            time.sleep(PAUSE_S)

    def _ended(self):
        """Each test that has ended, and whether it failed."""
        found = {}
        for path in self._folder.glob("ended-*"):
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    nodeid, failed = json.loads(line)
                    found[nodeid] = failed or found.get(nodeid, False)
        return found

    def any_failed(self):
        return any(self._ended().values())

    def keep_audit_log(self, log):
        """That of this worker's cluster stays readable when the cluster is gone."""
        log.touch()  # the API server makes it when it has something to write
        os.link(log, self._folder / f"audit-{name()}")

    def audit_logs(self):
        """Those of all workers."""
        return sorted(self._folder.glob("audit-*"))


def _shares(item):
    return any(fixture.scope == "module" for fixtures in item._fixtureinfo.name2fixturedefs.values() for fixture in fixtures)
