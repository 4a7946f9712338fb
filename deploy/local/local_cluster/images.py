"""Image archives: into a node's containerd, and the sandbox image made by hand."""

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path

from .subprocesses import run
from .node_files import SANDBOX_IMAGE
from .errors import UserError

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
UNPACKING = "unpacking "


def load(containerd_socket: Path, archive: Path) -> list[str]:
    """Imports the archive into the containerd of a node; returns the names of its images there."""
    try:
        with archive.open("rb") as stream:
            # Through standard input: the node does not see what was mounted on the host after its start.
            printed = run("ctr", f"--address={containerd_socket}", "--namespace=k8s.io", "images", "import", "-",
                          stdin=stream)
    except OSError as error:
        raise UserError(f"The image archive {archive} cannot be read: {error.strerror}.") from error
    names = parse_imported(printed)
    if not names:
        raise UserError(f"{archive} holds no named image: make it with a name, such as "
                      "`docker save NAME:TAG` or `buildah push ... docker-archive:FILE:NAME:TAG`.")
    return names


def parse_imported(printed: str) -> list[str]:
    """The image names in what `ctr images import` prints: 'unpacking NAME (sha256:...)...done'."""
    return [line[len(UNPACKING):].split(" (")[0] for line in printed.splitlines() if line.startswith(UNPACKING)]


def write_sandbox(target: Path, program: Path) -> Path:
    """The image of the program that holds a pod's namespaces."""
    return write_program(target, SANDBOX_IMAGE, "pause", program)


def write_program(target: Path, image: str, name: str, program: Path) -> Path:
    """An image whose only file is a static program, under this name, which its containers run."""
    layer = _tar({name: (program.read_bytes(), 0o755)})
    config = json.dumps({
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"Entrypoint": [f"/{name}"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
    }).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [image], "Layers": ["layer.tar"]}]).encode()
    target.write_bytes(_tar({"manifest.json": (manifest, 0o644), "config.json": (config, 0o644),
                             "layer.tar": (layer, 0o644)}))
    return target


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
