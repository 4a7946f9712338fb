"""Builds an archive from a recipe. Archives are cached by a hash of all inputs."""

import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

from local_cluster.locks import held
from local_cluster.paths import REPOSITORY, cache_home
from local_cluster.errors import UserError

from . import archive, debian, programs, sbom, wheels
from .recipe import Recipe
from .rootfs import RootFilesystem

PREFIX = "docker.io/ipu-operator"
KEPT_S = 3600  # a printed path stays valid for an hour, even if another source tree builds the same image


def version() -> str:
    """The project's version, which is also the tag of its images."""
    return re.search(r"project\(\S+ VERSION (\S+)", (REPOSITORY / "CMakeLists.txt").read_text())[1]


def image_name(recipe: Recipe, tag: str) -> str:
    return f"{PREFIX}/{recipe.name}:{tag}"


def build(recipe: Recipe, build_folder: Path, tag: str) -> Path:
    """Path of the image's archive; builds it unless it is cached."""
    cache = cache_home() / "images"
    with held(cache / f"{recipe.name}.lock", f"another command is building {recipe.name}"):
        return _build(recipe, build_folder, tag, cache)


def _build(recipe: Recipe, build_folder: Path, tag: str, cache: Path) -> Path:
    packages = debian.Packages(recipe.debian, cache / "debian")
    rootfs = RootFilesystem()
    _add_own(rootfs, recipe)
    materials = programs.add(rootfs, recipe.programs, recipe.plugins, build_folder)
    wheels.add(rootfs, recipe.wheels, cache / "wheels")
    rootfs.add_file(sbom.path(recipe.name), sbom.text(recipe.name, tag, materials | dict(packages.versions)).encode())
    target = cache / f"{recipe.name}-{_inputs_hash(recipe, tag, rootfs, packages)}.tar"
    if target.exists():
        target.touch()
        _print_line(recipe, f"unchanged, {_megabytes(target.stat().st_size)}")
        return target
    packages.download(lambda text: _print_line(recipe, text))
    packages.add(rootfs)
    unfinished = target.with_suffix(".unfinished")
    archive.write(unfinished, rootfs, recipe, image_name(recipe, tag))
    for old in cache.glob(f"{recipe.name}-*.tar"):
        if time.time() - old.stat().st_mtime > KEPT_S:
            old.unlink()
    os.replace(unfinished, target)
    _print_line(recipe, f"built, {len(rootfs.entries)} files, {_megabytes(rootfs.size())}")
    return target


def _add_own(rootfs: RootFilesystem, recipe: Recipe) -> None:
    # Links first, because later paths may go through them.
    for path, where in recipe.links.items():
        rootfs.add_link(path, where)
    for path, mode in recipe.directories.items():
        rootfs.add_directory(path, int(mode, 8))
    for path, text in recipe.texts.items():
        rootfs.add_file(path, text.encode())
    for path, source in recipe.files.items():
        rootfs.add_file(path, _source(source))


def _source(path: str) -> bytes:
    try:
        return (REPOSITORY / path).read_bytes()
    except OSError as error:
        raise UserError(f"The file {path}, which is part of the image, cannot be read: {error.strerror}.") from error


def _inputs_hash(recipe: Recipe, tag: str, rootfs: RootFilesystem, packages: debian.Packages) -> str:
    digest = hashlib.sha256()
    tool = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))
    contents = [(path, entry.mode, entry.target, hashlib.sha256(entry.content).hexdigest())
                for path, entry in sorted(rootfs.entries.items())]
    for part in [tool, recipe.source, json.dumps([tag, contents, packages.versions]).encode()]:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


def _print_line(recipe: Recipe, text: str) -> None:
    print(f"{recipe.name}: {text}", file=sys.stderr, flush=True)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
