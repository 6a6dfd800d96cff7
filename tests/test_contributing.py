"""CONTRIBUTING.md tells the truth about the tree."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
SOURCE = ROOT / "src" / "fenceline"


def rows(heading: str) -> list[list[str]]:
    section = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_of_layers_is_the_contract():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = contract["tool"]["importlinter"]["contracts"][0]["layers"]
    asked = [
        [name.strip().removeprefix("fenceline.") for name in layer.split("|")] for layer in layers
    ]
    told = [
        [name.strip("/") for name in re.findall(r"`([^`]+)`", row[0])] for row in rows("The layers")
    ]
    assert told == asked
    assert len(told) <= 12


def test_what_to_read_is_there_and_at_most_five_files():
    found = rows("To change this, read that")
    assert len(found) >= 6
    for subject, cell in found:
        paths = re.findall(r"`([^`]+)`", cell)
        assert 1 <= len(paths) <= 5, subject
        folder = SOURCE
        for path in paths:
            whole = next(
                (p for p in (SOURCE / path, folder / path, folder.parent / path) if p.exists()),
                None,
            )
            assert whole is not None, f"{subject}: {path}"
            folder = whole.parent
