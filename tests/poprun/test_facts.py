"""Each statement of facts.txt is quoted by a test, or docs/poprun.md or docs/popdist.md says why not."""

import pytest
from public_facts import PublicFacts

TESTS = ("poprun/*.py", "popdist/*.py", "unit/launcher/poprun/*.c", "unit/popdist/*.c")
FACTS = PublicFacts("poprun", sources=TESTS, pages=("poprun.md", "popdist.md"))


@pytest.mark.parametrize("fact", FACTS.facts, ids=str)
def test_it_is_quoted_or_there_is_a_reason(fact):
    FACTS.check(fact)


def test_no_page_gives_a_reason_for_what_is_tested():
    FACTS.check_pages()
