"""The page about estimators is true: its Python blocks run, and print what stands below them."""

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "estimator.md"
BLOCKS = re.compile(r"^```(python|text)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def opening(text: str) -> str:
    """Return the first word; numbers, and which pipeline wins, depend on the versions of libraries."""
    return text.split()[0]


def test_the_page_runs_and_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # one block writes a model
    blocks = BLOCKS.findall(PAGE.read_text("utf-8"))
    following = [*blocks[1:], ("", "")]
    names: dict[str, object] = {"__name__": "page"}
    compared = 0
    for (kind, block), (next_kind, expected) in zip(blocks, following, strict=True):
        if kind != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, str(PAGE), "exec"), names)
        if next_kind == "text":
            compared += 1
            assert opening(printed.getvalue()) == opening(expected), printed.getvalue()
        else:
            assert printed.getvalue() == ""
    assert compared >= 5
