"""podman for tests: with images and settings of its own, which work in a container or a small machine as well."""

import os
import resource
import shutil
import subprocess
from pathlib import Path

PROCESSES = 32768
BRIDGE = "cni-podman0"  # of podman's default network, which a build makes and nothing removes


class Podman:
    def __init__(self, folder):
        """Keeps everything in a folder, which release() empties."""
        self.folder = folder = Path(folder)
        self._found_bridge = has_bridge()
        settings, storage = folder / "containers.conf", folder / "storage.conf"
        _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
        _, processes = resource.getrlimit(resource.RLIMIT_NPROC)
        # Not more than may be given without rights, and podman takes no more than its own default of processes.
        processes = PROCESSES if processes < 0 else min(processes, PROCESSES)
        ulimits = [f"nofile={files}:{files}", f"nproc={processes}:{processes}"]
        # crun knows no machine with both versions of cgroups.
        settings.write_text(f'[containers]\ndefault_ulimits = {ulimits}\nnetns = "host"\n[engine]\nruntime = "runc"\n')
        storage.write_text(f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/images"\nrunroot = "{folder}/state"\n')
        self.environment = os.environ | {"CONTAINERS_CONF": str(settings), "CONTAINERS_STORAGE_CONF": str(storage)}

    def __call__(self, *words, **options):
        done = subprocess.run(["podman", *map(str, words)], env=self.environment, capture_output=True, text=True, check=False, timeout=300, **options)
        assert done.returncode == 0, f"podman {' '.join(map(str, words))}: {done.stderr}"
        return done.stdout

    def build(self, name, folder, dockerfile):
        (Path(folder) / "Dockerfile").write_text(dockerfile)
        self("build", "--quiet", "--tag", name, folder)

    def busybox(self, name, folder, *lines):
        """An image with BusyBox alone, and with what the lines of a Dockerfile add."""
        shutil.copy("/bin/busybox", folder)
        self.build(name, folder, "\n".join(["FROM scratch", "COPY busybox /bin/busybox", 'RUN ["/bin/busybox", "--install", "-s", "/bin"]', *lines]))

    def allow_insecure(self, registry):
        settings = self.folder / "registries.conf"
        settings.write_text(f'[[registry]]\nlocation = "{registry}"\ninsecure = true\n')
        self.environment["CONTAINERS_REGISTRIES_CONF"] = str(settings)

    def containers(self):
        return self("ps", "--all", "--quiet").split()

    def release(self):
        self("system", "reset", "--force")
        subprocess.run(["umount", "--lazy", self.folder / "images" / "overlay"], capture_output=True, check=False)
        if has_bridge() and not self._found_bridge:
            subprocess.run(["ip", "link", "delete", BRIDGE], check=True)


def has_bridge():
    return Path("/sys/class/net", BRIDGE).exists()

