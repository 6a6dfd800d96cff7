"""Every example runs as written, and so does every Python block of the README."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run_script(name: str, *arguments: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / name), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_black_box_example_ends_inside_the_fence() -> None:
    assert run_script("black_box.py", "15").startswith("feasible\n")


def test_comparison_example_lists_every_algorithm() -> None:
    lines = run_script("compare_algorithms.py", "20").splitlines()
    assert lines[0].startswith("6776 pipelines")
    assert lines[1].startswith("ADMM() ")
    assert len(lines) == 6


def test_every_example_is_tested_here() -> None:
    tested = set(re.findall(r'run_script\("(\w+\.py)"', Path(__file__).read_text("utf-8")))
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == tested


@pytest.mark.parametrize("page", ["README.md", "docs/constraints.md"])
def test_python_blocks_of_a_page_run_from_top_to_bottom(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # one block writes a run directory
    text = (ROOT / page).read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    names: dict[str, object] = {"__name__": "page"}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks:
            # A budget in evaluations, so that a slow machine tries as many pipelines as a fast one.
            block = block.replace("seconds=25", "evaluations=8")
            exec(compile(block, page, "exec"), names)
