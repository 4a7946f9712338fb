"""Each statement of facts.txt is quoted by a test, or docs/poprun.md or docs/popdist.md says why not."""

import pytest
from record import Record

TESTS = ("poprun/*.py", "popdist/*.py", "unit/launcher/poprun/*.c", "unit/popdist/*.c")
RECORD = Record("poprun", sources=TESTS, pages=("poprun.md", "popdist.md"))


@pytest.mark.parametrize("fact", RECORD.facts, ids=str)
def test_it_is_quoted_or_there_is_a_reason(fact):
    RECORD.check(fact)


def test_no_page_gives_a_reason_for_what_is_tested():
    RECORD.check_pages()
