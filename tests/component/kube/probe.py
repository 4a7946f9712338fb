"""kube_probe as a process that a test talks to: what it prints is waited for, never slept for."""

import os
import queue
import re
import signal
import subprocess
import threading
import time

DEADLINE = 60


class Probe:
    def __init__(self, program, kubeconfig, words):
        self._process = subprocess.Popen(
            [program, "--kubeconfig", kubeconfig, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "ASAN_OPTIONS": "abort_on_error=0:exitcode=99"},
        )
        self.lines = []
        self._arrived = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            self._arrived.put(line.decode("utf-8", "replace").rstrip("\n"))
        self._arrived.put(None)

    def _next(self, deadline):
        try:
            line = self._arrived.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise AssertionError("not in time; so far:\n" + "\n".join(self.lines)) from None
        if line is not None:
            self.lines.append(line)
        return line

    def wait(self, pattern, seconds=DEADLINE):
        """The first new line that has the pattern."""
        deadline = time.monotonic() + seconds
        while (line := self._next(deadline)) is not None:
            if re.search(pattern, line):
                return line
        raise AssertionError(f"ended without {pattern!r}:\n" + "\n".join(self.lines))

    def end(self, seconds=DEADLINE):
        """Everything it printed, once it has ended by itself, and well."""
        deadline = time.monotonic() + seconds
        while self._next(deadline) is not None:
            pass
        assert self._process.wait(timeout=DEADLINE) == 0, "\n".join(self.lines)
        return "\n".join(self.lines)

    def stop(self):
        """Asks it to end, and returns everything it printed."""
        self._process.send_signal(signal.SIGTERM)
        return self.end()

    def kill(self):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._process.stdout.close()


def number(output, name):
    """The number after `name` in what a probe printed."""
    return int(re.search(rf"\b{name} (\d+)", output).group(1))
