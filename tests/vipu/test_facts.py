"""Each statement of facts.txt is quoted by a test, or docs/vipu.md says why not."""

import pytest
from public_facts import PublicFacts

FACTS = PublicFacts("vipu", sources=("vipu/**/*.py", "unit/vipu/**/*.c", "unit/base/**/*.c"), pages=("vipu.md",))


@pytest.mark.parametrize("fact", FACTS.facts, ids=str)
def test_it_is_quoted_or_there_is_a_reason(fact):
    FACTS.check(fact)


def test_the_page_gives_no_reason_for_what_is_tested():
    FACTS.check_pages()
