"""page/screenshots, and the pictures in docs."""

import re
import subprocess

from conftest import ROOT
from screenshots import IMAGES, SCHEMES, STATES

MOST_BYTES = 150_000
NAMES = {f"live-page-{state}-{scheme}.png" for state in STATES for scheme in SCHEMES}


def size_of(picture):
    """Width and height of a PNG."""
    data = picture.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR"
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def test_the_command_makes_every_picture_of_the_page_that_there_is(tmp_path):
    """It waits for the main texts of each state; other versions of Chromium draw the same text in other bytes."""
    subprocess.run([ROOT / "page" / "screenshots", tmp_path], check=True, timeout=300)
    assert {file.name for file in tmp_path.iterdir()} == NAMES
    for name in NAMES:
        made, kept = size_of(tmp_path / name), size_of(IMAGES / name)
        assert made[0] == kept[0] and abs(made[1] - kept[1]) <= 0.1 * kept[1], f"{name}: run page/screenshots and commit docs/images"


def test_pictures_are_small_and_shown():
    assert {file.name: file.stat().st_size for file in IMAGES.iterdir() if file.stat().st_size > MOST_BYTES} == {}
    shown = {}
    for page, folder in (("README.md", "docs/images/"), ("docs/live-page.md", "images/")):
        shown[page] = set(re.findall(rf'(?:src|srcset)="{folder}([^"]+)"', (ROOT / page).read_text()))
    assert shown["docs/live-page.md"] == NAMES == {file.name for file in IMAGES.iterdir()}
    assert shown["README.md"] and shown["README.md"] <= NAMES
