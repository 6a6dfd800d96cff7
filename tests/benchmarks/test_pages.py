"""Pages with measured tables."""

from pathlib import Path

import pytest

from benchmarks.pages import MARKS, Verdict, published

PAGES = [Path("docs/benchmarks") / f"{name}.md" for name in ("automl", "decisions", "fences")]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_publishing_replaces_the_tables_and_nothing_else(path):
    page = path.read_text()
    once = published(page, "| a | b |\n")
    assert published(once, "| c | d |\n") == once.replace("| a | b |", "| c | d |")
    assert once.startswith(page.partition(MARKS[0])[0])
    assert once.endswith(page.partition(MARKS[1])[2])
    assert page.count(MARKS[0]) == page.count(MARKS[1]) == 1


def test_what_was_not_measured_is_not_missed():
    words = [Verdict("a", "b", met).cells[-1] for met in (True, False, None)]
    assert words == ["met", "missed", "not measured"]
