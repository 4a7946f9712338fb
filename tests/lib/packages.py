"""The project's Python packages, built and installed by pip as users do it."""

import shutil
import subprocess
import sys

DEADLINE_S = 600  # it compiles


def wheel_of(source, folder):
    """Made as `python -m build` does, a source distribution and the wheel from that alone, and outside the tree."""
    copy = folder / "source"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    pack = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    python("-c", pack, folder, cwd=copy)
    pip("wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", folder / "out", next(folder.glob("*.tar.gz")))
    return next((folder / "out").glob("*.whl"))


def install(wheel, folder):
    """Into a folder for PYTHONPATH."""
    pip("install", "--no-deps", "--no-index", "--target", folder, wheel)
    return folder


def pip(*words):
    python("-m", "pip", *words)


def python(*words, cwd=None):
    done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, check=False, cwd=cwd,
                          timeout=DEADLINE_S)
    assert done.returncode == 0, done.stdout + done.stderr
