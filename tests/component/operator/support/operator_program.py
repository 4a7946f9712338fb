"""ipu-operator as a process. IPU_OPERATOR names the program; else it is that of BUILD_DIR, or of build/asan."""

import http.client
import os
import re
import signal
import subprocess
import urllib.request
from pathlib import Path

from waiting import DEADLINE_S, until

ROOT = Path(__file__).resolve().parents[4]
SANITIZER = re.compile(r"ERROR: \w+Sanitizer|runtime error:|Assertion .* failed")


def program():
    built = ROOT / os.environ.get("BUILD_DIR", "build/asan") / "operator/ipu-operator"
    path = Path(os.environ.get("IPU_OPERATOR", built))
    assert path.is_file(), f"{path} is missing: build the target ipu-operator, or set BUILD_DIR or IPU_OPERATOR"
    return str(path)


def environment():
    """Nothing of this machine's own Kubernetes may reach the program."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "IPU_", "POD_"))}
    return {**kept, "HOME": "/nonexistent", "ASAN_OPTIONS": "exitcode=99", "UBSAN_OPTIONS": "print_stacktrace=1"}


def run(*words, seconds=DEADLINE_S):
    """Runs it to its end: what a mistake on the command line comes to."""
    return subprocess.run([program(), *map(str, words)], capture_output=True, text=True, timeout=seconds, env=environment())


class Operator:
    """One operator that can be started again and again; its log goes on in one file."""

    def __init__(self, folder, *flags):
        self.log_path = Path(folder) / "operator.log"
        self.log_path.touch()
        self.flags = [str(flag) for flag in flags]
        self.process = None

    def start(self):
        self._from = self.log_path.stat().st_size
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([program(), "--health-port", "0", "--metrics", "plain", *self.flags], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=environment())
        return self

    def log(self):
        return self.log_path.read_text(errors="replace")

    def log_of_this_start(self):
        return self.log_path.read_bytes()[self._from:].decode(errors="replace")

    def of_process(self, file):
        """What the system knows of it."""
        return Path(f"/proc/{self.process.pid}/{file}").read_text(errors="replace")

    def tail(self):
        return "\n".join(self.log().splitlines()[-25:])

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def page(self, path):
        """Its address; "" before there is one."""
        port = re.search(r"health_port\W+(\d+)\D", self.log_of_this_start())
        return f"http://127.0.0.1:{port[1]}{path}" if port else ""

    def ask(self, path, body=None):
        """Status and text of a page; 0 while nothing answers. A body makes it a POST."""
        page = self.page(path)
        if not page:
            return 0, ""
        try:
            with urllib.request.urlopen(page, body and body.encode(), timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""

    def health(self, path):
        return self.ask(path)[0]

    def until_logged(self, pattern, seconds=DEADLINE_S):
        until(lambda: re.search(pattern, self.log_of_this_start()), f"a log line {pattern!r}", seconds, self.tail)

    def until_working(self, seconds=DEADLINE_S):
        """It leads, and knows the world."""
        def works():
            assert self.process.poll() is None, f"it ended with {self.process.returncode}:\n{self.tail()}"
            return "leading" in self.log_of_this_start() and self.health("/readyz") == 200  # a standby is ready too
        until(works, "the operator is at work", seconds, self.tail)
        return self

    def kill(self):
        """As a crash does."""
        process = self.process  # another thread may start the next one as soon as this one is dead
        if process:
            process.kill()
            process.wait()

    def end(self):
        """As a rolling update does; its exit code."""
        if self.is_alive():
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_S)

    def check_sanitizers(self):
        found = SANITIZER.search(self.log())
        assert not found, self.log()[found.start():][:6000]
