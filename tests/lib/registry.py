"""A real registry: Debian's, unpacked and run on loopback."""

import contextlib
import re
import subprocess

from waiting import until

DEADLINE_SECONDS = 120


def _address_of(process, log):
    """Where it listens: on a port that the kernel gave it."""

    def listening():
        assert process.poll() is None, "the registry ended by itself"
        return re.search(r'listening on (127\.0\.0\.1:\d+)"', log.read_text())

    return until(listening, "the registry listens")[1]


@contextlib.contextmanager
def running_registry(folder):
    """The address of an empty registry."""
    subprocess.run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", "docker-registry"], cwd=folder, check=True)
    subprocess.run(["dpkg-deb", "-x", next(folder.glob("*.deb")), folder], check=True)
    (folder / "config.yml").write_text(
        f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {folder}/data}}}}\nhttp: {{addr: '127.0.0.1:0'}}\n")
    with open(folder / "log", "w") as log:
        process = subprocess.Popen([folder / "usr/bin/docker-registry", "serve", "config.yml"], cwd=folder, stdout=log,
                                   stderr=log)
    try:
        yield _address_of(process, folder / "log")
    finally:
        process.terminate()
        process.wait(DEADLINE_SECONDS)
