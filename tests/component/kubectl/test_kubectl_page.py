"""docs/kubectl-ipu.md: how the plug-in is installed and packed."""

import hashlib
import os
import re
import tarfile
from pathlib import Path

import pytest
import yaml
from kube import run
from pages import ROOT, Reader, all_pages, blocks_at

PAGE = "docs/kubectl-ipu.md"
SOURCES = {path.stem: path for path in (ROOT / "kubectl" / "core").rglob("*.c")}


@pytest.fixture
def user(cluster, tmp_path):
    """Somebody with kubectl and a home."""
    path = f"{tmp_path}/.local/bin:{Path(cluster.program).parent}:{os.environ['PATH']}"
    build = ROOT / os.environ.get("BUILD_DIR", "build/dev")
    return Reader(tmp_path, {**os.environ, "HOME": str(tmp_path), "PATH": path, "KUBECONFIG": cluster.kubeconfig}, **{"build/release": build})


def test_the_page_installs_and_packs_the_plug_in(user):
    for block in blocks_at(PAGE, "kubectl"):
        user(block)
    listed = user.types("kubectl plugin list; kubectl __complete ipu wh")
    assert ".local/bin/kubectl-ipu\n" in listed.stdout and "why\t" in listed.stdout
    manifest = yaml.safe_load((user.folder / "dist" / "ipu.yaml").read_text())
    platform = manifest["spec"]["platforms"][0]
    archive = user.folder / "dist" / Path(platform["uri"]).name
    assert manifest["metadata"]["name"] == "ipu" and re.fullmatch(r"v\d+\.\d+\.\d+", manifest["spec"]["version"])
    assert platform["uri"].startswith("https://downloads.example.com/kubectl-ipu-v")
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == platform["sha256"]
    with tarfile.open(archive) as packed:
        names = set(packed.getnames())
    is_static = Path(f"{user.names['build/release']}/kubectl/kubectl-ipu.inputs").exists()
    assert {"LICENSE", platform["bin"]} <= names and ("licences/libssl-dev" in names) == is_static


def test_the_situations_of_the_page_are_those_of_the_program():
    table = (ROOT / PAGE).read_text().split("<!-- situations -->")[1].split("<!-- end of situations -->")[0]
    source = SOURCES["why"].read_text()
    rows = re.findall(r'^\s+\[\w+\] = \{"(\w+)",\s+"([^"]+)",', source, re.MULTILINE)
    assert sorted(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", table, re.MULTILINE)) == sorted(rows)
    # Every reason of the program's table is in the row of its situation, and no other.
    names = dict(re.findall(r'^\s+\[(\w+)\] = \{"(\w+)"', source, re.MULTILINE))
    reasons = [(names[situation], reason) for reason, situation in re.findall(r'^    \{"(\w+)", ([A-Z_]+)\},', source, re.MULTILINE)]
    cells = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", table, re.MULTILINE))
    assert reasons and all(f"`{reason}`" in cells[situation] for situation, reason in reasons)


def test_the_fields_of_the_page_are_those_of_the_program():
    table = (ROOT / PAGE).read_text().split("<!-- fields -->")[1].split("<!-- end of fields -->")[0]
    source = "".join(SOURCES[name].read_text() for name in ("why", "jobs", "log_text", "map", "eta", "whatif", "operator_sign"))
    keys = set(re.findall(r'\b(?:json_put_\w+|put_copy|put_number)\(\s*\w+, "(\w+)"', source)) - {"apiVersion"}
    named = set(re.findall(r"`([a-z]\w+)`", table)) - {"logs"}
    assert keys - named == set() and named - keys == set()


def test_commands_in_sentences_have_verbs_and_options_that_there_are(program):
    found = {(page, command) for page in all_pages() for command in re.findall(r"`kubectl ipu ([^`\n]+)`", (ROOT / page).read_text())}
    assert len(found) > 2
    for page, command in found - {(PAGE, "VERB --help")}:
        verb, *words = command.split()
        shown = run(program, verb, "--help").stdout
        assert [word for word in words if word.startswith("--") and word not in shown] == [], f"{page}: {command}"


def test_the_options_of_the_page_exist(program):
    helps = "".join(run(program, verb, "--help").stdout for verb in ("why", "whatif", "queue", "logs", "map", "release", "collect", "ui"))
    flags = set(re.findall(r"--([a-z-]+)", helps))
    assert "kubeconfig" in flags and set(re.findall(r"`--([a-z-]+)", (ROOT / PAGE).read_text())) <= flags | {"install"}
