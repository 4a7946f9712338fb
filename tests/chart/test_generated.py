"""What is made from the chart is up to date; the head of generated.py says how to renew it."""

import pytest

import generated


@pytest.mark.parametrize("file, name", generated.PARTS, ids=lambda part: part if isinstance(part, str) else part.name)
def test_tables_are_up_to_date(file, name):
    text = file.read_text()
    assert generated.with_part(text, name, generated.PARTS[file, name]()) == text, generated.__doc__


@pytest.mark.parametrize("helm", ["helm", "helm3"])
@pytest.mark.parametrize("file", generated.FILES, ids=lambda file: file.stem)
def test_renders_are_as_reviewed(programs, file, helm):
    made, kept = generated.FILES[file](programs / helm), file.read_text()
    # Helm 3 and 4 order the kinds differently that neither knows.
    assert sorted(made.split("---\n")) == sorted(kept.split("---\n")), generated.__doc__
