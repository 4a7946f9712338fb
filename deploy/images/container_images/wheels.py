"""Python packages of this project, as pip builds and installs them."""

import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from local_cluster.paths import REPOSITORY
from local_cluster.errors import UserError

from .rootfs import RootFilesystem

# Debian's own: its pip and setuptools are there by deploy/prerequisites, whatever other Pythons there are.
PYTHON = "/usr/bin/python3"
MADE_ON_THE_WAY = ("build", "*.egg-info", "__pycache__")


def add(rootfs: RootFilesystem, wheels: dict[str, str], cache: Path) -> None:
    """Each of {folder in the image: folder of the sources}."""
    for place, source in wheels.items():
        with zipfile.ZipFile(_built(REPOSITORY / source, cache)) as wheel:
            for member in wheel.infolist():
                if not member.is_dir():
                    is_library = member.filename.endswith(".so") or ".so." in member.filename
                    rootfs.add_file(f"{place}/{member.filename}", wheel.read(member), 0o755 if is_library else 0o644)


def _built(source: Path, cache: Path) -> Path:
    """The wheel, made now or kept under a hash of its sources."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "source"
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns(*MADE_ON_THE_WAY))
        kept = cache / f"{source.name}-{_hash_of(copy)}.whl"
        if not kept.exists():
            made = _make(copy, Path(folder) / "out")
            cache.mkdir(parents=True, exist_ok=True)
            for old in cache.glob(f"{source.name}-*.whl"):
                old.unlink()
            unfinished = kept.with_suffix(".unfinished")
            shutil.copyfile(made, unfinished)
            os.replace(unfinished, kept)
        return kept


def _hash_of(folder: Path) -> str:
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder)}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _make(source: Path, target: Path) -> Path:
    # Without debugging information nothing in the libraries tells the folder or the time in which they were made.
    environment = {**os.environ, "CFLAGS": "-g0", "SOURCE_DATE_EPOCH": "315532800", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([PYTHON, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
                           "--wheel-dir", target, source], capture_output=True, text=True, check=False, env=environment)
    made = list(target.glob("*.whl"))
    if done.returncode or len(made) != 1:
        raise UserError(f"The Python package {source.name} cannot be built (`deploy/prerequisites build images` installs "
                      f"what that needs): {done.stderr.strip()[-2000:]}")
    return made[0]
