"""``fenceline bench``: Fenceline beside other searches, on equal terms, on your table or a test problem."""

import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from fenceline.cli import options
from fenceline.cli.settings import Settings
from fenceline.errors import DefinitionError

if TYPE_CHECKING:
    from rich.table import Table

    from fenceline.problem.problem import Problem
    from fenceline.result.result import Result

DEFAULT_EVALUATIONS = 50


@dataclass(frozen=True, slots=True)
class Line:
    """How one search did, over all seeds."""

    search: str
    best: float | None
    """Median of the best feasible objective; None if half of the runs or more found nothing."""
    found: str
    """In how many of the runs something feasible was found."""
    first: float | None
    """Median number of evaluations until the first feasible one, where there was one."""
    feasible: float
    seconds: float


def bench(
    data: options.Table = None,
    target: options.Target = None,
    task: options.Task = None,
    objective: options.Objective = None,
    constraint: options.Constraints = None,
    group: options.Groups = None,
    drop: options.Drop = None,
    space: options.Space = None,
    cv: options.Folds = None,
    evaluations: Annotated[
        int, typer.Option(help="How many pipelines each search measures.")
    ] = DEFAULT_EVALUATIONS,
    seeds: Annotated[int, typer.Option(help="How often each search is repeated.")] = 3,
    seed: Annotated[int, typer.Option(help="The first seed, and the artificial problem's.")] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Compare Fenceline with random search, and Optuna's TPE if it is installed.

    Without a table, on an artificial problem with two constraints that a tenth of the pipelines meet.
    Every search measures as many pipelines; values are medians over the seeds.

    Example: fenceline bench credit.csv --target Status -c "size_mb <= 1" --evaluations 30
    """
    from rich.console import Console

    from fenceline.cli import show
    from fenceline.cli.outcome import plain

    if seeds < 1:
        raise DefinitionError(f"--seeds must be at least 1, not {seeds}; try --seeds 3.")
    given = Settings().given(
        target=target,
        task=task,
        objective=objective,
        constraint=tuple(constraint or ()),
        group=tuple(group or ()),
        drop=tuple(drop or ()),
        space=space,
        cv=cv,
    )
    if data is None and given != Settings():
        raise DefinitionError(
            "These options are for a table; write fenceline bench DATA --target ..."
        )
    settings = given.given(data=None if data is None else str(data))
    settings = settings.given(evaluations=evaluations, seed=seed)
    err = Console(stderr=True)
    with show.notes():
        problem = _artificial(seed) if data is None else _on_table(settings)
        lines = list(_compare(problem, settings, seeds, err))
    if as_json:
        show.print_json(
            plain(
                {
                    "objective": problem.objective,
                    "constraints": [str(c) for c in problem.constraints],
                    "evaluations": evaluations,
                    "seeds": seeds,
                    "searches": [asdict(line) for line in lines],
                }
            )
        )
    else:
        out = Console()
        show.say(
            out,
            f"{problem.objective}, {evaluations} evaluations, {seeds} seeds; inside: "
            f"{' and '.join(map(str, problem.constraints)) or 'no constraint'}",
        )
        out.print(_table(lines))


def _compare(problem: "Problem", settings: Settings, seeds: int, err: Any) -> Iterator[Line]:
    from fenceline.cli import show
    from fenceline.minimize import minimize

    for name, algorithm in _searches():
        runs, start = [], time.perf_counter()
        for seed in range(settings.seed, settings.seed + seeds):
            show.say(err, f"{name}, seed {seed}")
            result = minimize(
                problem, evaluations=settings.evaluations, algorithm=algorithm, seed=seed
            )
            if result.ended == "interrupted":
                raise KeyboardInterrupt
            runs.append(result)
        yield _line(name, runs, (time.perf_counter() - start) / seeds)


def _searches() -> Iterator[tuple[str, Any]]:
    from fenceline.baselines import OptunaTPE, RandomSearch
    from fenceline.search.structured.search import StructuredBO

    yield "Fenceline", StructuredBO()
    yield "random search", RandomSearch()
    if find_spec("optuna") is not None:
        yield "Optuna TPE", OptunaTPE()


def _line(name: str, runs: "list[Result]", seconds: float) -> Line:
    found = [r for r in runs if r.best is not None]
    best = statistics.median([r.trajectory[-1] for r in runs])
    first = [next(i for i, e in enumerate(r.evaluations, 1) if e.feasible) for r in found]
    return Line(
        name,
        float(best) if best < float("inf") else None,
        f"{len(found)} of {len(runs)}",
        statistics.median(first) if first else None,
        statistics.mean(r.feasible_fraction for r in runs),
        seconds,
    )


def _artificial(seed: int) -> "Problem":
    from fenceline.problems import artificial

    return artificial(seed, constraints=2)


def _on_table(settings: Settings) -> "Problem":
    """Return the search of a fit on all rows: nothing is certified here, so none are kept back."""
    from fenceline.cli.fitting import make_model
    from fenceline.cli.job import prepare
    from fenceline.estimator.learning_task import pose
    from fenceline.estimator.second_table import Given

    job = prepare(settings)
    given = Given(job.X, job.y, job.groups, job.weights)
    task = pose(make_model(job.settings, job.constraints), given)
    return task.problem(task.measure(np.arange(len(task.table.y))))


def _table(lines: list[Line]) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("search")
    for heading in ("best inside", "runs", "first after", "feasible", "seconds"):
        table.add_column(heading, justify="right")
    for line in lines:
        table.add_row(
            line.search,
            "none" if line.best is None else f"{line.best:.5g}",
            line.found,
            "" if line.first is None else f"{line.first:g}",
            f"{line.feasible:.0%}",
            f"{line.seconds:.1f}",
        )
    return table
