"""From recipe to archive. An archive is kept in the cache under a hash of all that went into it."""

import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

from local_cluster.locks import held
from local_cluster.places import REPOSITORY, cache_home
from local_cluster.problem import Problem

from . import archive, debian, programs, sbom, wheels
from .recipe import Recipe
from .tree import Tree

PREFIX = "docker.io/ipu-operator"
KEPT_S = 3600  # who was told of an archive takes it, whatever is made of another tree meanwhile


def version() -> str:
    """The project's version, which is also the tag of its images."""
    return re.search(r"project\(\S+ VERSION (\S+)", (REPOSITORY / "CMakeLists.txt").read_text())[1]


def image_name(recipe: Recipe, tag: str) -> str:
    return f"{PREFIX}/{recipe.name}:{tag}"


def build(recipe: Recipe, build_folder: Path, tag: str) -> Path:
    """The path of the image's archive, made now or before."""
    cache = cache_home() / "images"
    with held(cache / f"{recipe.name}.lock", f"another command is building {recipe.name}"):
        return _build(recipe, build_folder, tag, cache)


def _build(recipe: Recipe, build_folder: Path, tag: str, cache: Path) -> Path:
    packages = debian.Packages(recipe.debian, cache / "debian")
    tree = Tree()
    _add_own(tree, recipe)
    materials = programs.add(tree, recipe.programs, recipe.plugins, build_folder)
    wheels.add(tree, recipe.wheels, cache / "wheels")
    tree.add_file(sbom.path(recipe.name), sbom.text(recipe.name, tag, materials | dict(packages.versions)).encode())
    target = cache / f"{recipe.name}-{_inputs_hash(recipe, tag, tree, packages)}.tar"
    if target.exists():
        target.touch()
        _say(recipe, f"unchanged, {_megabytes(target.stat().st_size)}")
        return target
    packages.download(lambda text: _say(recipe, text))
    packages.add(tree)
    unfinished = target.with_suffix(".unfinished")
    archive.write(unfinished, tree, recipe, image_name(recipe, tag))
    for old in cache.glob(f"{recipe.name}-*.tar"):
        if time.time() - old.stat().st_mtime > KEPT_S:
            old.unlink()
    os.replace(unfinished, target)
    _say(recipe, f"made, {len(tree.entries)} files, {_megabytes(tree.size())}")
    return target


def _add_own(tree: Tree, recipe: Recipe) -> None:
    # Links first: what comes later follows them.
    for path, where in recipe.links.items():
        tree.add_link(path, where)
    for path, mode in recipe.directories.items():
        tree.add_directory(path, int(mode, 8))
    for path, text in recipe.texts.items():
        tree.add_file(path, text.encode())
    for path, source in recipe.files.items():
        tree.add_file(path, _source(source))


def _source(path: str) -> bytes:
    try:
        return (REPOSITORY / path).read_bytes()
    except OSError as error:
        raise Problem(f"The file {path}, which the image is to hold, cannot be read: {error.strerror}.") from error


def _inputs_hash(recipe: Recipe, tag: str, tree: Tree, packages: debian.Packages) -> str:
    digest = hashlib.sha256()
    tool = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))
    contents = [(path, entry.mode, entry.target, hashlib.sha256(entry.content).hexdigest())
                for path, entry in sorted(tree.entries.items())]
    for part in [tool, recipe.source, json.dumps([tag, contents, packages.versions]).encode()]:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


def _say(recipe: Recipe, text: str) -> None:
    print(f"{recipe.name}: {text}", file=sys.stderr, flush=True)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
