"""Programs that CMake built, stripped, and the shared libraries that they and their plug-ins need."""

import glob
import os
import re
import subprocess
import tempfile
from pathlib import Path

from local_cluster.errors import UserError

from . import dpkg_database
from .rootfs import RootFilesystem

BUILD_HINT = "build it with `cmake --workflow --preset release`, or name the build folder with --build-dir"


def add(rootfs: RootFilesystem, programs: dict[str, str], plugins: list[str], build: Path) -> dict[str, str]:
    """{package: version} of the Debian packages whose files went into the programs or came along with them."""
    libraries: set[str] = set()
    linked: set[str] = set()
    for path, name in sorted(programs.items()):
        program = find(name, build)
        rootfs.add_file(path, _stripped(program), 0o755)
        libraries |= needed(program)
        linked |= _linked(program)
    for pattern in plugins:
        found = sorted(glob.glob(pattern))
        if not found:
            raise UserError(f"{pattern} not found; run `deploy/prerequisites build` to install it.")
        libraries |= {*found, *(library for plugin in found for library in needed(Path(plugin)))}
    for library in sorted(libraries):
        rootfs.add_file(library, Path(library).read_bytes(), 0o755)
    packages = dpkg_database.owners(libraries | linked)
    _add_licences(rootfs, packages)
    return packages


def _linked(program: Path) -> set[str]:
    """What the linker has read for a static program, as it noted itself (cmake/modules.cmake)."""
    note = program.with_name(program.name + ".inputs")
    if not note.exists():
        return set()
    read = {os.path.normpath(word) for word in note.read_text().split() if word.startswith("/") and not word.endswith(":")}
    # deploy/static-libraries makes this one of a package that has only the shared library.
    return {"/usr/include/cjson/cJSON.h" if Path(path).name == "libcjson.a" else path for path in read}


def _add_licences(rootfs: RootFilesystem, packages: dict[str, str]) -> None:
    """Libraries that other packages recommend to load at run time."""
    for package in packages:
        file = dpkg_database.copyright_file(package)
        if file.exists():
            rootfs.add_file(str(file), file.read_bytes())


def find(name: str, build: Path) -> Path:
    found = [file for file in build.rglob(name) if file.is_file() and os.access(file, os.X_OK)]
    if len(found) != 1:
        what = "is not there" if not found else f"is there {len(found)} times"
        raise UserError(f"The program {name} {what} in {build}: {BUILD_HINT}.")
    return found[0]


def needed(program: Path) -> set[str]:
    """The paths of the shared libraries that the dynamic linker would load, itself included."""
    done = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    missing = re.findall(r"(\S+) => not found", done.stdout)
    if missing:
        raise UserError(f"{program} needs {', '.join(missing)}, which is not on this machine.")
    if done.returncode:
        return set()  # ldd's answer to a static program
    return set(re.findall(r"(/\S+) \(0x", done.stdout))


def _stripped(program: Path) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / program.name
        subprocess.run(["strip", "-o", target, program], check=True)
        return target.read_bytes()
