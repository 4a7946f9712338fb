"""The end of tests/bench page before its time, without a cluster."""

import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
import page  # noqa: E402


class EndedApi:
    """An API server that goes away: who waits for it gets an error."""

    def __init__(self):
        self.asked, self.gone = threading.Barrier(3), threading.Event()

    def watch(self, *_):
        yield "LIST", []
        self._wait()

    def patch(self, *_):
        self._wait()

    def _wait(self):
        self.asked.wait(10)
        self.gone.wait(10)
        raise ConnectionResetError("the API server is gone")


@pytest.fixture
def failures(monkeypatch):
    found = []
    monkeypatch.setattr(threading, "excepthook", found.append)
    return found


def end(api, is_interrupted):
    def receive(*_):
        api.asked.wait(10)  # both threads wait for the API server
        if is_interrupted:
            raise KeyboardInterrupt
        api.gone.set()
        return {}

    before = set(threading.enumerate())
    try:
        page.measure_changes(api, SimpleNamespace(receive=receive), 1, SimpleNamespace(changes=2))
    except KeyboardInterrupt:
        api.gone.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)


def test_an_interrupt_prints_no_traceback(failures):
    end(EndedApi(), True)
    assert failures == []


def test_an_api_server_that_goes_away_is_told(failures):
    end(EndedApi(), False)
    assert "the API server is gone" in str(failures[0].exc_value)
