"""Recipe of an image: its content and its entry point. Unknown keys are rejected, to detect misspelled ones."""

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path

from local_cluster.paths import REPOSITORY
from local_cluster.errors import UserError

RECIPES = REPOSITORY / "deploy" / "images"


@dataclass
class Debian:
    packages: list[str] = field(default_factory=list)
    # What the image does not need, as patterns from the root, but for what is kept all the same.
    without: list[str] = field(default_factory=list)
    keep: list[str] = field(default_factory=list)
    without_packages: list[str] = field(default_factory=list)
    # Single files out of packages that are not installed: {package: {path in the package: path in the image}}.
    single_files: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass
class Recipe:
    about: str
    name: str = ""
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    user: str = ""
    working_dir: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    directories: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    programs: dict[str, str] = field(default_factory=dict)
    # Python packages of this project: {folder in the image: folder of their sources}.
    wheels: dict[str, str] = field(default_factory=dict)
    # Shared libraries that programs open by path at run time, as patterns on this machine.
    plugins: list[str] = field(default_factory=list)
    debian: Debian = field(default_factory=Debian)
    source: bytes = b""


def names() -> list[str]:
    return sorted(file.stem for file in RECIPES.glob("*.toml"))


def load(name: str) -> Recipe:
    if name not in names():
        raise UserError(f"Unknown image '{name}', expected one of: {', '.join(names())}.")
    return read(RECIPES / f"{name}.toml")


def read(file: Path) -> Recipe:
    source = file.read_bytes()
    try:
        table = tomllib.loads(source.decode())
        debian = _checked(Debian, table.pop("debian", {}), "debian.")
        return Recipe(**_keys(Recipe, table, ""), name=file.stem, source=source, debian=debian)
    except (ValueError, TypeError) as error:
        raise UserError(f"Invalid recipe {file}: {error}.") from error


def _checked(kind, table: dict, prefix: str):
    return kind(**_keys(kind, table, prefix))


def _keys(kind, table: dict, prefix: str) -> dict:
    unknown = set(table) - {each.name for each in fields(kind)}
    if unknown:
        raise ValueError(f"unknown key {prefix}{min(unknown)}")
    return table
