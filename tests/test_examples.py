"""Every example runs, so does every Python block of the README and the site, and no public name lacks a page."""

import contextlib
import importlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fenceline.errors import MissingDependencyError

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if "\n```python\n" in page.read_text("utf-8")
]
# What a page shows of a search that somebody else made.
BEFORE = {
    "cluster.md": """
import fenceline as fl

space = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 1)})])])
problem = fl.Problem(space, lambda c: {"loss": c["m"].params["x"]}, constraints=["loss <= 0.9"])
fl.minimize(problem, evaluations=4, run_dir="runs/first")
""",
    "report.md": """
import fenceline as fl

space = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 9)})])])
measure = lambda c: {"loss": -c["m"].params["x"], "latency_us": 3 * c["m"].params["x"]}
result = model = fl.minimize(fl.Problem(space, measure, constraints=["latency_us <= 10"]), evaluations=4)
X = [[i % 7, i % 3] for i in range(60)]
y = [i % 7 > 2 for i in range(60)]
""",
}
# Interrupted and resumed at fixed counts; a fence that takes some searching to get inside.
ENOUGH = {"resume.py": 50, "small_model.py": 40}
# Pages whose searches are the same on every machine, but for the last digits.
REPEATABLE = {"constraints.md", "fences.md", "solvers.md", "spaces.md"}
# Pages that run in full, and whose outputs begin as they say: which pipeline wins depends on versions of libraries.
IN_FULL = {"estimator.md"}


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def _figures() -> Iterator[None]:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all")


def small(source: str, evaluations: int) -> str:
    """Return the code with a small budget, counted in evaluations: a slow machine tries no fewer."""
    source = re.sub(r"(?<=\bevaluations=)\d+", lambda n: str(min(int(n[0]), evaluations)), source)
    return re.sub(r"(?<!Limits\()\bseconds=\d+", f"evaluations={evaluations}", source)


def without_numbers(text: str) -> list[str]:
    return re.sub(r"-?\d[\d.e+-]*", "#", text).split()


@pytest.mark.usefixtures("_figures")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs_and_prints_something(path: Path) -> None:
    source = small(path.read_text("utf-8"), ENOUGH.get(path.name, 6))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, path.name, "exec"), {"__name__": "__main__"})
    assert printed.getvalue().strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_of_a_page_run_from_top_to_bottom(page: Path) -> None:
    names: dict[str, object] = {"__name__": "page"}
    exec(BEFORE.get(page.name, ""), names)
    repeatable, in_full = page.name in REPEATABLE, page.name in IN_FULL
    printed = ""
    for kind, block in BLOCK.findall(page.read_text("utf-8")):
        if kind == "text":
            if repeatable and printed:
                assert without_numbers(printed) == without_numbers(block)
            if in_full:
                assert printed.split()[:1] == block.split()[:1]
            printed = ""
            continue
        assert not (in_full and printed), "what is printed is shown"
        source = block if repeatable or in_full else small(block, 8)
        output = io.StringIO()
        # What an extra brings is run where the extra is installed.
        with contextlib.redirect_stdout(output), contextlib.suppress(MissingDependencyError):
            exec(compile(source, page.name, "exec"), names)
        printed = output.getvalue()


PACKAGES = [
    "data",
    "metrics",
    "pipelines",
    "plots",
    "search.admm.solvers",
    "solvers",
    "baselines",
    "evaluation",
    "export",
    "store",
    "problems",
    "report",
    "testing",
]


@pytest.mark.parametrize("package", ["fenceline", *(f"fenceline.{name}" for name in PACKAGES)])
def test_every_public_name_is_in_the_reference(package: str) -> None:
    text = (ROOT / "docs" / "api.md").read_text("utf-8")
    listed = set(re.findall(r"^\.\. \S+:: (?:[\w.]+\.)?(\w+)", text, flags=re.MULTILINE))
    assert set(getattr(importlib.import_module(package), "__all__", ())) - {*PACKAGES} <= listed
