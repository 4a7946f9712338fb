"""Writes a docker-archive: one layer, sorted entries, fixed times, so that equal content gives equal bytes."""

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path

from .recipe import Recipe
from .rootfs import RootFilesystem

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
EPOCH = "1970-01-01T00:00:00Z"
KINDS = {"file": tarfile.REGTYPE, "link": tarfile.SYMTYPE, "directory": tarfile.DIRTYPE}


def write(target: Path, rootfs: RootFilesystem, recipe: Recipe, tag: str) -> None:
    layer = _layer(rootfs)
    config = json.dumps(_config(recipe, hashlib.sha256(layer).hexdigest()), sort_keys=True).encode()
    manifest = [{"Config": "config.json", "RepoTags": [tag], "Layers": ["layer.tar"]}]
    parts = {"manifest.json": json.dumps(manifest).encode(), "config.json": config, "layer.tar": layer}
    with tarfile.open(target, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in parts.items():
            _append(tar, name, 0o644, content)


def _layer(rootfs: RootFilesystem) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, entry in sorted(rootfs.entries.items()):
            _append(tar, path.lstrip("/"), entry.mode, entry.content, KINDS[entry.kind], entry.target)
    return buffer.getvalue()


def _append(tar, name, mode, content, kind=tarfile.REGTYPE, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.size, info.linkname = kind, mode, len(content), target
    tar.addfile(info, io.BytesIO(content))


def _config(recipe: Recipe, layer_digest: str) -> dict:
    start = {
        "Entrypoint": recipe.entrypoint,
        "Cmd": recipe.command,
        "User": recipe.user,
        "WorkingDir": recipe.working_dir,
        "Env": [f"{name}={value}" for name, value in sorted(recipe.environment.items())],
    }
    return {
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "created": EPOCH,
        "config": {key: value for key, value in start.items() if value},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
        "history": [{"created": EPOCH, "comment": recipe.about}],
    }
