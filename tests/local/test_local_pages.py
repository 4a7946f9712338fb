"""docs/ipu-run.md and what ipu-run says of itself agree, and the page's commands work."""

import os
import re
import shutil
import subprocess

import pytest
from conftest import BUILD, ROOT
from pages import Reader, blocks_at, pages_of

PROGRAM = BUILD / "local" / "ipu-run"
PAGE = (ROOT / "docs" / "ipu-run.md").read_text()


def printed(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True, timeout=60).stdout


def table(heading):
    section = PAGE.split(f"## {heading}")[1].split("\n## ")[0]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in section.splitlines() if line.startswith("| `")]


def test_the_page_has_the_options_of_help():
    documented = {name for row in table("Options") for name in re.findall(r"`--([\w-]+)", row[0])}
    assert documented == set(re.findall(r"^ +(?:-\w, )?--([\w-]+)", printed("--help"), re.MULTILINE)) - {"help", "version"}


def test_the_page_has_the_fields_of_the_table():
    """The manual page prints the table that the program checks pods by."""
    section = printed("__man").split(".SH FIELDS OF PODS")[1].replace("\\-", "-").replace("\\&", "")
    entries = re.findall(r"^\.TP\n(?:\.B )?(.+)\n(.+)$", section, re.MULTILINE)
    said = [(re.sub(r"\\f.|^\"|\"$", "", path), text) for path, text in entries]
    assert len(said) > 50
    assert [(path.strip("`"), (f"{how}: {why}" if why else how) + (f"; with --engine podman {podman}" if podman else ""))
            for path, how, why, podman in table("Fields of pods")] == said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_reads_its_completion(shell):
    script = printed("__completion", shell)
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=script, text=True, check=True, timeout=60)


@pytest.mark.parametrize("typed, found", [("--ip", ["--ipus"]), ("-o j", ["json"]), ("--log-level w", ["warn"])])
def test_bash_completes_options_and_values(typed, found):
    ask = (f"source <({PROGRAM} __completion bash); COMP_WORDS=(ipu-run {typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _ipu_run; "
           "echo ${COMPREPLY[*]}")
    assert subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True).stdout.split() == found


@pytest.mark.parametrize("page", pages_of("local"))
def test_what_a_page_says_works(tmp_path, page):
    (tmp_path / "site").mkdir()
    reader = Reader(tmp_path / "site", os.environ | {"PATH": f"{BUILD / 'local'}:{os.environ['PATH']}", "HOME": str(tmp_path),
                                                     "XDG_STATE_HOME": ""})
    for block in blocks_at(page, "local"):
        reader(block)


def test_an_installation_works_alone(tmp_path):
    """What `cmake --install` copies is enough."""
    installed = subprocess.run(["cmake", "--install", BUILD, "--prefix", tmp_path], capture_output=True, text=True, check=False)
    assert installed.returncode == 0, installed.stderr
    (tmp_path / "job.yaml").write_text(PAGE.split("```yaml file hello.yaml\n")[1].split("```")[0])
    done = subprocess.run([tmp_path / "bin" / "ipu-run", "--run-dir", tmp_path / "run", tmp_path / "job.yaml"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "share" / "man" / "man1" / "ipu-run.1").is_file()
