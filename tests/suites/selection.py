"""What the words of a command line choose: whole suites, or single files and tests of them."""

from dataclasses import dataclass, field
from pathlib import Path

from .table import SUITES, Ctest, Part, Pytest, Suite

TESTS = Path(__file__).resolve().parents[1]


class Unknown(Exception):
    """A word that chooses nothing; the text says what would."""


@dataclass
class Chosen:
    """A suite, and what of each part is to run: everything if nothing is named."""

    suite: Suite
    names: dict[Part, list[str]] = field(default_factory=dict)

    @property
    def parts(self) -> list[Part]:
        return [part for part in self.suite.parts if not self.names or part in self.names]

    def of(self, part: Part) -> list[str]:
        return self.names.get(part, [])


def choose(words: list[str]) -> list[Chosen]:
    """In the order of the table; without words, all suites but those on demand."""
    if not words:
        return [Chosen(suite) for suite in SUITES if not suite.on_demand]
    found: dict[str, Chosen] = {}
    for word in words:
        for chosen in _read(word):
            known = found.setdefault(chosen.suite.name, chosen)
            if not chosen.names or not known.names:
                known.names = {}
            elif known is not chosen:
                for part, names in chosen.names.items():
                    known.names.setdefault(part, []).extend(names)
    return [found[suite.name] for suite in SUITES if suite.name in found]


def _read(word: str) -> list[Chosen]:
    named = [suite for suite in SUITES if suite.name == word]
    if named:
        return [Chosen(named[0])]
    prefix, colon, test = word.partition(":")
    compiled = [suite for suite in SUITES if any(isinstance(part, Ctest) for part in suite.parts)]
    if colon and not test.startswith(":") and prefix in [suite.name for suite in compiled]:
        return [_compiled(suite, test) for suite in compiled if suite.name == prefix]
    path, separator, test = word.partition("::")
    if (TESTS.parent / path).exists() or path.endswith(".py"):
        return _of_path(Path(TESTS.parent / path).resolve(), separator + test, word)
    kind = word.partition(".")[0]
    for suite in compiled:
        if "." in word and any(isinstance(part, Ctest) and part.label == KINDS.get(kind) for part in suite.parts):
            return [_compiled(suite, word)]
    raise Unknown(f"unknown suite or test '{word}', expected one of: {', '.join(suite.name for suite in SUITES)}; "
                  "for files and single tests see `tests/run --help`")


# The first word of a compiled test's name -> the label of such tests.
KINDS = {"arch": "arch", "unit": "unit", "fuzz": "unit", "sim": "sim"}


def _compiled(suite: Suite, test: str) -> Chosen:
    return Chosen(suite, {next(part for part in suite.parts if isinstance(part, Ctest)): [test]})


def _of_path(path: Path, test: str, word: str) -> list[Chosen]:
    """Whatever part has it: some files run with programs of several presets."""
    found = []
    for suite in SUITES:
        names = {part: [f"{path.relative_to(TESTS.parent)}{test}"] for part in suite.parts if isinstance(part, Pytest)
                 and any(path.is_relative_to(TESTS / folder) for folder in part.paths)}
        found += [Chosen(suite, names)] if names else []
    if not path.exists() or not found:
        raise Unknown(f"no tests at '{word}', expected a file or folder below tests/, such as tests/vipu/server/test_config.py")
    return found
