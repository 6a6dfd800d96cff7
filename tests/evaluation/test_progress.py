import copy
import re
import sys
from dataclasses import dataclass
from io import StringIO
from types import ModuleType

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table
from sklearn.base import clone

from fenceline import Algorithm, FencelineClassifier, Integer, Module, Problem, Space, minimize
from fenceline.evaluation.evaluator import Progress
from fenceline.evaluation.progress import HEARTBEAT_SECONDS, ProgressDisplay
from fenceline.problem.evaluation import Evaluation
from fenceline.search.iterate import Iterate

SPACE = Space([Module("model", [Algorithm("knn", {"k": Integer(1, 50)})])])


def measure(configuration):
    k = configuration["model"].params["k"]
    if k == 13:
        raise RuntimeError("unlucky")
    return {"loss": 1.0 / k, "latency_us": 5.0 + k, "rate": 0.4 + k / 500}


PROBLEM = Problem(
    SPACE, measure, constraints=["latency_us <= 30", "loss >= 0.001", "rate == 0.45 +- 0.06"]
)


def evaluation(k: int, problem: Problem = PROBLEM) -> Evaluation:
    configuration = problem.space.configuration({"model": ("knn", {"k": k})})
    metrics = measure(configuration)
    return Evaluation(configuration, metrics, metrics["loss"], problem.violation(metrics))


def screen(written: str) -> list[str]:
    """Return what a terminal shows after these letters: lines go up by ESC[1A, are cleared by ESC[2K."""
    lines, row = [""], 0
    for piece in re.findall(r"\x1b\[[\d;?]*[A-Za-z]|\n|\r|[^\x1b\n\r]+", written):
        if piece == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif piece.endswith("A") and piece.startswith("\x1b"):
            row -= 1
        elif piece == "\x1b[2K":
            lines[row] = ""
        elif not piece.startswith("\x1b") and piece != "\r":
            lines[row] += piece
    return [line.rstrip() for line in lines if line.strip()]


@pytest.fixture
def terminal() -> Console:
    return Console(file=StringIO(), force_terminal=True, width=100)


def test_library_prints_nothing_unless_asked(capfd):
    minimize(PROBLEM, evaluations=5)
    assert capfd.readouterr() == ("", "")


def test_without_a_terminal_every_improvement_is_a_line(capfd):
    result = minimize(PROBLEM, evaluations=12, callbacks=[ProgressDisplay(PROBLEM, evaluations=12)])
    out, err = capfd.readouterr()
    assert out == ""
    best = result.trajectory[np.isfinite(result.trajectory)]
    assert err.count("new best: knn(k=") == len(set(best))
    assert "of 12 evaluations" in err
    assert "\x1b" not in err


def test_a_run_without_news_says_now_and_then_that_it_is_alive():
    console = Console(file=StringIO(), width=200)
    show = ProgressDisplay(PROBLEM, console=console)
    best = evaluation(20)
    for count, seconds in enumerate([1.0, 2.0, 3.0, 1.5 + HEARTBEAT_SECONDS], start=1):
        show(Progress(best, best, count, count, seconds))
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 2
    assert "new best" in lines[0]
    assert lines[1].startswith("12 s, 4 evaluations, 100% feasible")


def test_terminal_holds_one_panel_however_often_it_is_drawn(terminal):
    show = ProgressDisplay(PROBLEM, seconds=60, evaluations=10, console=terminal)
    best = evaluation(20)
    for count in range(1, 11):
        show(Progress(evaluation(count), best, count, count // 2, float(count)))
    lines = screen(terminal.file.getvalue())
    assert len(lines) == 6
    assert "10 of 60 s, 10 of 10 evaluations, 50% feasible, minimising loss" in lines[0]
    assert lines[1].split() == ["best", "0.05", "knn(k=20)"]
    assert lines[2].startswith("last")
    assert lines[2].endswith("knn(k=10)")
    for line, constraint in zip(lines[3:], PROBLEM.constraints, strict=True):
        assert f"{constraint}: {best.metrics[constraint.metric]:.4g}" in line


def test_verbose_terminal_keeps_a_line_for_every_evaluation(terminal):
    show = ProgressDisplay(PROBLEM, verbosity=2, console=terminal)
    for count in range(1, 5):
        show(Progress(evaluation(count), None, count, 0, count / 1000))
    lines = screen(terminal.file.getvalue())
    panel = ["budget", "best", "last", "fence", "fence", "fence"]
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "4", *panel]


def test_before_anything_feasible_the_nearest_miss_is_held_against_the_fence(terminal):
    show = ProgressDisplay(PROBLEM, console=terminal)
    show(Progress(evaluation(50), None, 1, 0, 1.0))
    show(Progress(evaluation(28), None, 2, 0, 2.0))
    show(Progress(evaluation(45), None, 3, 0, 3.0))
    lines = screen(terminal.file.getvalue())
    assert "none yet" in lines[1]
    assert "latency_us <= 30: 33  outside" in lines[3]


@pytest.mark.parametrize(("k", "cells"), [(1, 4), (10, 10), (25, 20), (50, 20)])
def test_bar_is_full_at_the_fence(terminal, k, cells):
    problem = Problem(SPACE, measure, constraints=["latency_us <= 30"])
    show = ProgressDisplay(problem, console=terminal)
    show(Progress(evaluation(k, problem), None, 1, 0, 1.0))
    fence = terminal.file.getvalue().splitlines()[-1]
    # What is used is drawn in colour, the rest in grey (90).
    used = sum(len(run) for run in re.findall(r"\x1b\[3[12]m([━╸]+)", fence))
    assert used == pytest.approx(cells, abs=1)
    assert ("\x1b[31m" in fence) == (5 + k > 30)


def test_failed_evaluation_is_shown_with_its_reason(capfd):
    space = Space([Module("model", [Algorithm("knn", {"k": Integer(12, 14)})])])
    problem = Problem(space, measure, constraints=["latency_us <= 30"])
    minimize(problem, evaluations=3, callbacks=[ProgressDisplay(problem, verbosity=2)])
    [line] = [line for line in capfd.readouterr().err.splitlines() if "k=13" in line]
    assert "last (error)" in line
    assert "unlucky" in line


def test_names_are_shown_as_they_are_not_as_markup(terminal):
    space = Space([Module("model", [Algorithm("[red]knn[/nonsense]")])])
    problem = Problem(space, lambda configuration: {"loss": 1.0})
    minimize(problem, evaluations=1, callbacks=[ProgressDisplay(problem, console=terminal)])
    assert "[red]knn[/nonsense]" in terminal.file.getvalue()


def test_notebook_gets_one_display_that_is_updated(monkeypatch):
    shown, updated = [], []

    class Handle:
        update = staticmethod(updated.append)

    def display(panel, display_id):
        assert display_id is True
        shown.append(panel)
        return Handle

    module = ModuleType("IPython.display")
    module.display = display
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    show = ProgressDisplay(PROBLEM, console=Console(file=StringIO(), force_jupyter=True))
    for count in range(1, 4):
        show(Progress(evaluation(count), None, count, 0, float(count)))
    assert len(shown) == 1
    assert len(updated) == 2
    assert all(isinstance(panel, Table) for panel in shown + updated)
    assert hasattr(shown[0], "_repr_mimebundle_"), "a notebook can draw it"


def test_iteration_is_shown_where_the_run_tells_it(terminal):
    @dataclass(frozen=True)
    class Told(Progress):
        iterate: Iterate | None = None

    none = np.zeros(0)
    iterate = Iterate(7, (0,), ((),), none, none, none, none, 1.5, 0.25, 0.125, 3, {"a <= 1": 0.5})
    told = Told(evaluation(1), None, count=1, feasible=0, seconds=1.0, iterate=iterate)
    ProgressDisplay(PROBLEM, console=terminal)(told)
    last = screen(terminal.file.getvalue())[-1]
    assert "iteration 7" in last
    assert "residuals 0.25 primal, 0.12 dual, rho 1.5; a <= 1 costs 0.5" in last


def test_estimator_shows_the_search_if_it_is_asked_to(capfd):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    space = Space([Module("estimator", [Algorithm("GaussianNB")])])
    model = FencelineClassifier(space=space, evaluations=1, cv=2).fit(X, y)
    assert capfd.readouterr() == ("", "")
    clone(model).set_params(verbose=1).fit(X, y)
    assert "1 of 1 evaluations" in capfd.readouterr().err


def test_estimator_with_a_display_can_be_cloned(capfd):
    show = ProgressDisplay(PROBLEM, evaluations=3)
    minimize(
        PROBLEM, evaluations=3, callbacks=[show]
    )  # it has a console now, which cannot be copied
    copied = clone(FencelineClassifier(callbacks=[show])).callbacks[0]
    assert copied is not show
    assert copied.evaluations == 3
    assert copy.deepcopy(show).console is show.console
