"""The images made of this build's programs stay small: nodes pull them before the first job starts."""

import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMITS = {"ipu-operator": 25e6, "ipu-launch": 12e6, "ipu-examples": 150e6}


def uncompressed(archive):
    """The bytes of all files."""
    with tarfile.open(archive) as image:
        layers = json.load(image.extractfile("manifest.json"))[0]["Layers"]
        return sum(member.size for layer in layers for member in tarfile.open(fileobj=image.extractfile(layer)))


@pytest.mark.parametrize("name", LIMITS)
def test_an_image_stays_below_its_limit(name, capsys):
    build = ROOT / os.environ.get("BUILD_DIR", "build/release")
    made = subprocess.run([ROOT / "deploy" / "image", "build", name, "--build-dir", build], capture_output=True, text=True,
                          timeout=600)
    assert made.returncode == 0, made.stderr
    size = uncompressed(made.stdout.strip())
    with capsys.disabled():
        print(f"\nfigure: image {name}: {size / 1e6:.1f} MB of {LIMITS[name] / 1e6:.0f}")
    assert size < LIMITS[name]
