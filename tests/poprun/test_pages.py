"""What poprun says of itself agrees with docs/poprun.md, and shells can read its completion."""

import os
import re
import shutil
import subprocess

import pytest

from calls import program
from pages import Reader, blocks_at, pages_of
from programs import ROOT


def page(*words):
    return subprocess.run([program("poprun"), *words], capture_output=True, text=True, check=True, timeout=60).stdout


def test_the_documentation_has_the_options_of_help():
    """On record: --help prints the table of options."""
    help_names = set(re.findall(r"^  (?:-\w \[ )?--([\w-]+)", page("--help"), re.MULTILINE))
    table = (ROOT / "docs" / "poprun.md").read_text().split("## Options")[1].split("## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    documented = {name for row in rows for name in re.findall(r"`--([\w-]+)`", row)}
    assert len(help_names) > 30 and documented == help_names


def test_help_fits_a_terminal():
    assert max(len(line) for line in page("--help").splitlines()) <= 100


def test_the_manual_page_is_a_page():
    man = page("__man")
    assert man.startswith(".TH POPRUN 1") and ".SH OPTIONS" in man


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_reads_its_completion(shell):
    script = page("__completion", shell)
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=script, text=True, check=True, timeout=60)


def test_bash_completes_names_and_values():
    ask = "source <({0} __completion bash); COMP_WORDS=(poprun {1}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _poprun; echo ${{COMPREPLY[*]}}"

    def complete(words):
        command = ["bash", "-c", ask.format(program("poprun"), words)]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()

    assert complete("--vipu-server") == ["--vipu-server-host", "--vipu-server-port", "--vipu-server-timeout"]
    assert complete("--process-placement s") == ["spreadnuma", "scattersocket", "scatternuma"]
    assert complete("--offline-mode = y") == ["yes"]


@pytest.mark.parametrize("page", pages_of("poprun"))
def test_what_a_page_says_works(site, tmp_path, page):
    (tmp_path / "train.py").write_text("print('trained')\n")
    tools = ":".join(os.path.dirname(program(name, room)) for name, room in (("poprun", "launcher"), ("vipu", "vipu")))
    types = Reader(tmp_path, site.poprun.environment(**site.settings, HOME=str(tmp_path), PATH=f"{tools}:{os.environ['PATH']}"))
    for block in blocks_at(page, "poprun"):
        types(block)
