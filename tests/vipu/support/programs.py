"""The programs under test as processes, and waiting for what they do. BUILD_DIR names the build (build/dev if unset)."""

import os
import re
import signal
import subprocess
from pathlib import Path

from waiting import DEADLINE_S, until

ROOT = Path(__file__).resolve().parents[3]


def program(name, room="vipu"):
    path = ROOT / os.environ.get("BUILD_DIR", "build/dev") / room / name
    assert path.is_file(), f"{path} is missing: build the target {name}, or set BUILD_DIR"
    return str(path)


def run_program(name, *words, **options):
    """The program with these words, to its end; options are those of subprocess.run."""
    return subprocess.run([program(name), *words],
                          **{"capture_output": True, "text": True, "timeout": DEADLINE_S, **options})


class Server:
    """A vipu-server on a port of its own; stop() asks it to end, kill() does not."""

    def __init__(self, folder, config="", storage="state.db", listen="127.0.0.1:0", options=()):
        self.folder = Path(folder)
        self.log_path = self.folder / "server.log"
        self.args = [program("vipu-server"), "--storage", str(self.folder / storage), "--listen", listen, *options]
        if config:
            path = self.folder / "config.yaml"
            path.write_text(config)
            self.args += ["--config", str(path)]
        self.process = None
        self.start()

    def start(self):
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(self.args, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.port = int(until(self._announced, f"{self.args} listens")[1])

    def _announced(self):
        text = self.log()
        assert self.process.poll() is None, f"vipu-server ended with {self.process.returncode}:\n{text}"
        return re.search(r"serving the V-IPU user API.* port=(\d+)", text)

    @property
    def admin_port(self):
        """Of its HTTP endpoint; the configuration says admin-listen: 127.0.0.1:0."""
        return int(re.search(r"serving the admin endpoint.* port=(\d+)", self.log())[1])

    @property
    def target(self):
        return f"127.0.0.1:{self.port}"

    def log(self):
        return self.log_path.read_text()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self, config=None):
        """After kill -9, with another configuration if one is given. Its port is another one."""
        self.kill()
        if config:
            self.write_config(config)
        self.start()

    def reload(self, config):
        self.write_config(config)
        self.process.send_signal(signal.SIGHUP)

    def write_config(self, config):
        (self.folder / "config.yaml").write_text(config)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_S)


class Answerer:
    """tests/vipu/support/answerer.c: says who called, with TLS when there is a certificate (certificates.Certificate)."""

    def __init__(self, certificate=None):
        files = [str(certificate.pem), str(certificate.key)] if certificate else []
        self.process = subprocess.Popen([program("../tests/unit/vipu/vipu-answerer"), *files], text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        assert line.strip().isdigit(), line + self.process.stdout.read()
        self.port = int(line)
        self.target = f"127.0.0.1:{self.port}"

    def reload(self):
        """What it says about the files, until it is done with them."""
        self.process.send_signal(signal.SIGHUP)
        return self.process.stdout.readline().strip()

    def answer_held(self):
        self.process.send_signal(signal.SIGUSR1)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_S)
