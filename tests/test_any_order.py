"""Tests run in random order, so none may draw from what another has drawn from."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("*.py"))
GENERATORS = ("default_rng", "RandomState", "Random", "count", "iter", "cycle")


def generators(tree: ast.Module) -> set[str]:
    """Return the names of a module's own that give another value each time."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = node.value.func
            name = made.attr if isinstance(made, ast.Attribute) else getattr(made, "id", "")
            if name in GENERATORS:
                found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return found


def used_within_functions(tree: ast.Module, names: set[str]) -> set[str]:
    inner = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda)]
    return {
        node.id
        for function in inner
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id in names and not _given(function, node.id)
    }


def _given(function: ast.FunctionDef | ast.Lambda, name: str) -> bool:
    """Tell whether the function has such a name of its own."""
    own = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    stored = {
        n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return name in own | stored


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_no_test_draws_from_a_generator_that_others_draw_from(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert not used_within_functions(tree, generators(tree))


def test_such_a_generator_would_be_found() -> None:
    tree = ast.parse("R = np.random.default_rng(0)\ndef test():\n    return R.normal()\n")
    assert used_within_functions(tree, generators(tree)) == {"R"}
