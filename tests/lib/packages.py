"""The project's Python packages, built and installed by pip as users do it."""

import shutil
import subprocess
import sys

DEADLINE_S = 120


def wheel_of(source, folder):
    """Made by pip from a copy of the source, so that nothing is left in the tree."""
    copy = folder / "source"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    pip("wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", folder / "out", copy)
    return next((folder / "out").glob("*.whl"))


def install(wheel, folder):
    """Into a folder for PYTHONPATH."""
    pip("install", "--no-deps", "--no-index", "--target", folder, wheel)
    return folder


def pip(*words):
    done = subprocess.run([sys.executable, "-m", "pip", *map(str, words)], capture_output=True, text=True, check=False,
                          timeout=DEADLINE_S)
    assert done.returncode == 0, done.stdout + done.stderr
