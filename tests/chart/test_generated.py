"""What is made from the chart is up to date; the head of generated.py says how to renew it."""

import pytest

import generated


@pytest.mark.parametrize("file, name", generated.PARTS, ids=lambda part: part if isinstance(part, str) else part.name)
def test_tables_are_up_to_date(file, name):
    text = file.read_text()
    assert generated.with_part(text, name, generated.PARTS[file, name]()) == text, generated.__doc__
