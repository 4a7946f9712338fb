"""What the documentation says about the chart, as far as it needs no cluster."""

import os
import re
import shlex
import subprocess

import pytest
import yaml

from conftest import CHART, ROOT
from pages import Block, Reader, all_pages, blocks_at, blocks_of, missing_from, pages_of
from values_table import VENDOR, described_values

CODE = re.compile(r"`([^`\n]+)`")


@pytest.mark.parametrize("page", pages_of("chart"))
def test_what_a_page_says_works(programs, tmp_path, page):
    types = Reader(tmp_path, os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"})
    for block in blocks_at(page, "chart"):
        types(block)


def in_sentences(program):
    """The commands of this program in the sentences of pages, which no test runs. Those of the plug-in are held against it in
    tests/component/kubectl/test_kubectl_page.py."""
    for page in all_pages():
        text = re.sub(r"^ *```.*?^ *```", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
        yield from ((page, shlex.split(code)[1:]) for code in CODE.findall(text)
                   if code.startswith(f"{program} ") and not re.match(r"kubectl ipu\b", code))


@pytest.mark.parametrize("program, general", [("kubectl", ["options"]), ("helm", ["--help"])])
def test_commands_in_sentences_have_verbs_and_options_that_there_are(programs, program, general):
    def run(*words):
        return subprocess.run([programs / program, *words], capture_output=True, text=True, timeout=300)

    everywhere, helps = run(*general).stdout, {}
    for page, words in in_sentences(program):
        verb = words[2] if words[0] == "-n" else words[0]
        if verb not in helps:
            helps[verb] = run(verb, "--help")
        assert helps[verb].returncode == 0 and "Usage:" in helps[verb].stdout, f"{page}: {program} {verb}"
        own = words[: words.index("--")] if "--" in words else words
        flags = re.findall(r"(?<!\S)--[a-z-]+", " ".join(own))
        assert [flag for flag in flags if flag not in helps[verb].stdout + everywhere] == [], f"{page}: {program} {verb}"
    assert len(helps) > 4


@pytest.mark.parametrize("program", ["deploy/cluster", "deploy/image", "deploy/quickstart", "tests/bench", "tests/run"])
def test_commands_of_the_tree_in_sentences_have_words_that_there_are(program):
    found = list(in_sentences(program))
    assert found
    for page, words in found:
        verb = words[:0] if words[0].startswith("-") else words[:1]
        output = subprocess.run([ROOT / program, *verb, "--help"], capture_output=True, text=True, timeout=300)
        assert output.returncode == 0, f"{page}: {output.stderr}"
        suites = subprocess.run([ROOT / program, "--list"], capture_output=True, text=True, timeout=300).stdout if program == "tests/run" else ""
        known = [word in output.stdout + suites or (ROOT / word).is_file() for word in words if word in verb or word.startswith("--")]
        assert all(known), f"{page}: {program} {' '.join(words)}"


def test_every_value_that_a_page_names_is_there():
    known = {path for path, _, _ in described_values()} | {row["value"] for row in VENDOR}
    known |= {path.rsplit(".", depth)[0] for path in known for depth in (1, 2)}
    tops = yaml.safe_load((CHART / "values.yaml").read_text()).keys()
    named = {}
    for page in all_pages():
        text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
        for code in CODE.findall(text):
            for value in re.findall(rf"^(?:--set[ =])?((?:{'|'.join(tops)})(?:\.\w+)+)(?=$|[=:,])", code):
                named[value] = page
    assert len(named) > 40
    assert [f"{page}: {value}" for value, page in sorted(named.items()) if value not in known] == []


def test_files_of_values_that_a_page_shows_are_taken(helm):
    shown = {f"{block.where} {block.file}": yaml.safe_load(block.text) for page in all_pages() for block in blocks_of(page)
             if block.language == "yaml"}
    known = yaml.safe_load((CHART / "values.yaml").read_text()).keys()
    values = {where: value for where, value in shown.items() if known & value.keys()}
    assert len(values) >= 7
    for where, value in values.items():
        done = helm("template", value)
        assert done.returncode == 0, f"{where}: {done.stderr}"


@pytest.mark.parametrize("printed, missing", [
    ("NAME   AGE\nit     3m12s", ""),
    ("NAME   AGE\nit     1 min 12", ""),
    ("a line before\nNAME AGE\none between\n it 9s \n", ""),
    ("NAME   AGE", "it     22s"),
    ("it     22s\nNAME   AGE", ""),
    ("NAME   AGE\nNAME   AGE", "it     22s"),
    ("NAME   AGE\nit     soon", "it     22s"),
    ("NAME   AGE\nthat   22s", "it     22s"),
])
def test_what_is_shown_is_compared_loosely(printed, missing):
    assert missing_from(printed, "NAME   AGE\n...\nit     22s\n") == missing


def test_a_console_block_has_commands_and_what_they_print():
    text = "$ one --with \\\n    more\nprinted\n$ two\n$ three\nand\nso on\n"
    block = Block("page.md", 1, "Heading", "console", "run jobs fails", text)
    assert block.session == [("one --with \\\n    more", "printed\n"), ("two", ""), ("three", "and\nso on\n")]
    assert (block.place, block.fails, block.file) == ("jobs", True, None)
