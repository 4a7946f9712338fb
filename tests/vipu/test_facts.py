"""Each statement of facts.txt is quoted by a test, or docs/vipu.md says why not."""

import pytest
from record import Record

RECORD = Record("vipu", sources=("vipu/**/*.py", "unit/vipu/**/*.c", "unit/base/**/*.c"), pages=("vipu.md",))


@pytest.mark.parametrize("fact", RECORD.facts, ids=str)
def test_it_is_quoted_or_there_is_a_reason(fact):
    RECORD.check(fact)


def test_the_page_gives_no_reason_for_what_is_tested():
    RECORD.check_pages()
