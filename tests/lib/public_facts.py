"""The public record of a product as a list of statements: each is quoted by a test that proves it for our programs,
or a page of the documentation says why not.

FOLDER/facts.txt has a statement a line: the section of the record, a letter for how it is known, and what it says.
A test quotes it word for word in its docstring or comment; where there is none, the line below says why not, and a
table of the page repeats that.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
LINE = re.compile(r"(\d+(?:\.\d+)?) +([CDS]) (.+)")
WHY_NOT = re.compile(r" +why not: (.+)")
HEADING = "\n| statement | why not |\n"


@dataclass
class Fact:
    section: str
    says: str
    why_not: str = ""

    def __str__(self):
        return f"{self.section}-{self.says}"


def read_facts(path):
    found = []
    for line in path.read_text().splitlines():
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


def reasons_of(page):
    """The table of what has no test, by statement."""
    section = page.read_text().partition(HEADING)[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| (.+?) \| (.+?) \|$", section, flags=re.MULTILINE))


class PublicFacts:
    """The facts of a folder below tests/; `sources` are where tests may quote them, `pages` where reasons stand."""

    def __init__(self, folder, sources, pages):
        self.facts = read_facts(TESTS / folder / "facts.txt")
        self._sources = sources
        self._pages = pages

    @cached_property
    def _tests(self):
        return "\n".join(plain(path.read_text()) for source in self._sources for path in sorted(TESTS.glob(source)))

    @cached_property
    def _reasons(self):
        return {says: why for page in self._pages for says, why in reasons_of(TESTS.parent / "docs" / page).items()}

    def check(self, fact):
        if fact.why_not:
            assert self._reasons.get(fact.says) == fact.why_not
        else:
            assert plain(fact.says) in self._tests, f"no test quotes: {fact.says}"

    def check_pages(self):
        assert set(self._reasons) == {fact.says for fact in self.facts if fact.why_not}
