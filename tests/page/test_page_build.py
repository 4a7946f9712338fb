"""page/dist is what page/build makes, and stays small."""

import gzip
import subprocess

from conftest import ROOT
from played import DIST

MOST_BYTES = 60_000  # of all files, compressed


def test_a_build_gives_the_files_of_the_tree(tmp_path):
    subprocess.run([ROOT / "page" / "build", tmp_path / "dist"], check=True, timeout=300)
    built = {file.name: file.read_bytes() for file in (tmp_path / "dist").iterdir()}
    kept = {file.name: file.read_bytes() for file in DIST.iterdir()}
    assert set(built) == set(kept) == {"index.html", "app.js", "app.css"}
    assert [name for name in built if built[name] != kept[name]] == [], "run page/build and commit page/dist"


def test_the_page_is_small():
    sizes = {file.name: len(gzip.compress(file.read_bytes(), 9)) for file in DIST.iterdir()}
    print(f"figure: the page has {sum(sizes.values())} bytes, compressed")
    assert sum(sizes.values()) <= MOST_BYTES, sizes


def test_the_packages_have_exact_versions_from_no_particular_registry():
    lock = (ROOT / "page" / "package-lock.json").read_text()
    assert "resolved" not in lock and "://" not in lock.replace("https://opencollective.com", "").replace("https://github.com/sponsors", "")
