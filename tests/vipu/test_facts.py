"""Each statement of facts.txt is quoted by a test, or docs/vipu.md says why not."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
LINE = re.compile(r"(\d+(?:\.\d+)?) +([DS]) (.+)")
WHY_NOT = re.compile(r" +why not: (.+)")


@dataclass
class Fact:
    section: str
    says: str
    why_not: str = ""


def facts():
    found = []
    for line in (TESTS / "vipu/facts.txt").read_text().splitlines():
        if match := LINE.fullmatch(line):
            found.append(Fact(match[1], match[3]))
        elif match := WHY_NOT.fullmatch(line):
            found[-1].why_not = match[1]
        else:
            assert not line or line.startswith("#"), line
    return found


def plain(text):
    """Without what sets a comment out, in one line of small letters."""
    text = re.sub(r"^\s*(?:/\*+|\*+/?|#+)", " ", text, flags=re.MULTILINE)
    return " ".join(text.split()).lower()


@cache
def all_tests():
    """What all tests of V-IPU say."""
    paths = [*(TESTS / "vipu").glob("*.py"), *(TESTS / "unit/vipu").rglob("*.c"), *(TESTS / "unit/base").rglob("*.c")]
    return "\n".join(plain(path.read_text()) for path in paths)


@cache
def reasons():
    """docs/vipu.md's table of what has no test, by statement."""
    page = (TESTS.parent / "docs/vipu.md").read_text()
    section = page.partition("\n## What is known and not here\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", section, flags=re.MULTILINE)
    return dict(rows[1:])


@pytest.mark.parametrize("fact", facts(), ids=lambda fact: f"{fact.section}-{fact.says}")
def test_it_is_quoted_or_there_is_a_reason(fact):
    if fact.why_not:
        assert reasons().get(fact.says) == fact.why_not
    else:
        assert plain(fact.says) in all_tests(), f"no test quotes: {fact.says}"


def test_the_page_gives_no_reason_for_what_is_tested():
    assert set(reasons()) == {fact.says for fact in facts() if fact.why_not}
