"""``fenceline fit`` and ``fenceline resume``: a search that leaves everything in one directory."""

import itertools
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fenceline.cli import options
from fenceline.cli.settings import CONFIG, Settings, parse_limits, parse_monotone
from fenceline.cli.spaces import check_asked, find_space
from fenceline.errors import (
    BudgetError,
    DefinitionError,
    FencelineError,
    InfeasibleError,
    MeasurementError,
    StoreError,
)
from fenceline.problem.constraint import Constraint
from fenceline.store.run_directory import JOURNAL

if TYPE_CHECKING:
    from fenceline.cli.job import Job


def fit(
    data: options.Table = None,
    target: options.Target = None,
    task: options.Task = None,
    objective: options.Objective = None,
    constraint: options.Constraints = None,
    group: options.Groups = None,
    drop: options.Drop = None,
    weight: options.Weight = None,
    positive: options.Positive = None,
    monotone: options.Monotone = None,
    space: options.Space = None,
    seconds: options.Seconds = None,
    evaluations: options.Evaluations = None,
    workers: options.Workers = None,
    engine: options.Engine = None,
    limits: options.Limits = None,
    cv: options.Folds = None,
    seed: options.Seed = None,
    confidence: options.Confidence = None,
    joint: options.Joint = False,
    unseen: options.Unseen = None,
    prefer: options.Prefer = None,
    group_thresholds: options.GroupThresholds = False,
    ensemble: options.Ensemble = None,
    fold_votes: options.FoldVotes = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The run directory to make; DATA's name and '-run' by default."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A config.toml to repeat; other options go before it."),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Find the best pipeline for a table inside a fence, certify it, and save it.

    Exit codes: 0 an answer inside the fence, 2 wrong use, 3 nothing inside the fence, 130 interrupted
    (everything is kept).

    Example: fenceline fit credit.csv --target Status --objective roc_auc
    -c "latency_us(batch=1000) <= 15" -c "score_gap(roc_auc) <= 0.15" --group "Age:30,40,50" --seconds 60
    """
    base = Settings() if config is None else Settings.from_toml(config)
    if data is not None and str(data.resolve()) != base.data:
        base = replace(base, data=str(data), sha256=None)
    base = base if config is None else _at_home(base, engine, config)
    settings = base.given(
        target=target,
        task=task,
        objective=objective,
        constraint=tuple(constraint or ()),
        group=tuple(group or ()),
        drop=tuple(drop or ()),
        weight=weight,
        positive=positive,
        monotone=tuple(monotone or ()),
        space=space,
        seconds=seconds,
        evaluations=evaluations,
        workers=workers,
        engine=engine,
        limits=limits,
        cv=cv,
        seed=seed,
        confidence=confidence,
        joint=joint or None,
        unseen=unseen,
        prefer=prefer,
        group_thresholds=group_thresholds or None,
        ensemble=ensemble,
        fold_votes=fold_votes,
    )
    if settings.seconds is None and settings.evaluations is None:
        from fenceline.estimator.budget import DEFAULT_SECONDS

        settings = replace(settings, seconds=DEFAULT_SECONDS)
    directory = _new_directory(out, settings)
    check_asked(base.space, space, config)
    _search(settings, settings, directory, as_json=as_json, verbosity=_verbosity(quiet, verbose))


def resume(
    directory: options.RunPath,
    seconds: Annotated[float | None, typer.Option(help="How much longer to search.")] = None,
    evaluations: Annotated[
        int | None, typer.Option(help="How many more pipelines to measure.")
    ] = None,
    workers: options.Workers = None,
    space: Annotated[
        str | None,
        typer.Option(help="Needed if the space was a function of your own: the same again."),
    ] = None,
    engine: options.Engine = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Continue a fit that was interrupted, or extend one that has ended.

    Nothing is measured twice. Without a budget, what is left of the run's own is spent; if that is
    nothing and the fit was killed before it could save its model, it does so now. A run that
    measured on a cluster needs --engine again: an address in a file is never connected to.

    Example: fenceline resume credit-run --seconds 120
    """
    from fenceline.cli.rundir import open_run

    run = open_run(directory)
    before = _at_home(run.settings, engine, directory / CONFIG).given(workers=workers)
    done, spent = run.measured(), float(run.summary.get("seconds", 0.0))
    # Checked as the options they are, before they are added to what was spent.
    over, more = False, Settings(seconds=seconds, evaluations=evaluations)
    if seconds is None and evaluations is None:
        more = replace(
            more, evaluations=_left(before.evaluations, done), seconds=_left(before.seconds, spent)
        )
        over = (before.seconds is not None and more.seconds is None) or (
            before.evaluations is not None and more.evaluations is None
        )
        if over and run.answered >= run.full():
            raise BudgetError(
                f"The budget of {directory} is spent ({done} evaluations); give more with --seconds or "
                "--evaluations."
            )
    check_asked(run.settings.space, space, directory)
    if space not in (None, run.settings.space):
        raise StoreError(
            f"{directory} searched the space {run.settings.space}, not {space}; leave --space out, or "
            "start a new run."
        )
    total = None if more.evaluations is None else done + more.evaluations
    now = replace(before, seconds=more.seconds, evaluations=total)
    whole = replace(now, seconds=None if more.seconds is None else spent + more.seconds)
    if over:
        # Killed after its search: the journal alone is read again, then refitted and certified.
        now, whole = replace(before, seconds=None, evaluations=done), before
    _search(now, whole, directory, spent, as_json=as_json, verbosity=_verbosity(quiet, verbose))


def _search(
    settings: Settings,
    recorded: Settings,
    directory: Path,
    spent: float = 0.0,
    *,
    as_json: bool,
    verbosity: int,
) -> None:
    """Fit with these settings, write everything down under those, and leave with the exit code."""
    from rich.console import Console

    from fenceline.cli import show
    from fenceline.cli.job import prepare
    from fenceline.cli.outcome import FitRecord

    console = Console(stderr=as_json)
    with show.notes():
        job = prepare(settings)
        model = make_model(job.settings, job.constraints, run_dir=directory, verbose=verbosity)
        _check(model, job)
        recorded = replace(
            recorded,
            data=job.settings.data,
            task=job.settings.task,
            unseen=job.settings.unseen,
            sha256=job.settings.sha256,
        )
        # Written first, so that a fit that is killed can be resumed; a resumed one has it already.
        started = _started(directory, recorded)
        if verbosity:
            show.say(Console(stderr=True), f"{job}. Writing to {directory}.")
        refusal = None
        try:
            model.fit(job.X, job.y, groups=job.groups, sample_weight=job.weights, unseen=job.unseen)
        except FencelineError as problem:
            found_nothing = isinstance(problem, InfeasibleError | MeasurementError)
            if not found_nothing or not hasattr(model, "result_"):
                _clear(directory, started)
                raise
            refusal = problem
        outcome = FitRecord(model, refusal, spent, recorded.title)
        outcome.write(directory)
        recorded.to_toml(directory / CONFIG)
    summary = outcome.summary(directory)
    if as_json:
        show.print_json(summary)
    else:
        show.answer(console, summary, directory)
    raise typer.Exit(outcome.exit_code)


def _check(model: Any, job: "Job") -> None:
    """Refuse what the fit would refuse before anything is said or written; it warns itself."""
    from fenceline.estimator.learning_task import pose
    from fenceline.estimator.second_table import Given

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pose(model, Given(job.X, job.y, job.groups, job.weights))


def make_model(settings: Settings, constraints: list[Constraint], **more: Any) -> Any:
    """Return the estimator, not fitted yet, that the settings ask for."""
    from fenceline.estimator.estimators import FencelineClassifier, FencelineRegressor

    kind = FencelineRegressor if settings.task == "regression" else FencelineClassifier
    return kind(
        objective=settings.objective,
        constraints=constraints,
        space=find_space(settings.space),
        seconds=settings.seconds,
        evaluations=settings.evaluations,
        workers=settings.workers,
        cv=settings.folds,
        random_state=settings.seed,
        confidence=settings.confidence,
        joint=settings.joint,
        unseen=settings.unseen_share,
        prefer="objective" if settings.prefer == "objective" else "certainty",
        group_thresholds=settings.group_thresholds,
        engine=settings.engine,
        limits=parse_limits(settings.limits),
        ensemble=settings.ensemble,
        fold_votes=settings.fold_votes,
        positive=settings.positive,
        monotone=parse_monotone(settings.monotone),
        **more,
    )


def _at_home(settings: Settings, engine: str | None, file: Path) -> Settings:
    """Return settings with the engine that was said; an address in a file is nobody's word.

    Whoever wrote the file would otherwise be sent the table, and could run code here.
    """
    if engine is None and "://" in (settings.engine or ""):
        raise DefinitionError(
            f"{file} names the cluster {settings.engine}, and an address in a file is not connected to: "
            "the table would be sent there. Say it again with --engine ADDRESS if it is yours, or "
            "measure here with --engine local."
        )
    return settings.given(engine=engine)


def _new_directory(out: Path | None, settings: Settings) -> Path:
    """Return a directory that holds nothing yet."""
    if out is None:
        stem = Path(settings.data or "fenceline").name.split(".")[0]
        names = itertools.chain([f"{stem}-run"], (f"{stem}-run-{i}" for i in itertools.count(2)))
        return next(path for path in map(Path, names) if not path.exists())
    if out.is_file():
        raise StoreError(f"--out {out} is a file; name a directory.")
    if out.is_dir() and any(out.iterdir()):
        held = "a run" if (out / CONFIG).exists() else "other files"
        raise StoreError(
            f"--out {out} already holds {held}; choose another directory, or continue a run with "
            f"fenceline resume {out}."
        )
    return out


def _started(directory: Path, recorded: Settings) -> list[Path]:
    """Make the directory and its config, where they are not there yet; return what was made."""
    made = [path for path in (directory / CONFIG, directory) if not path.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreError(
            f"--out {directory} cannot be made ({problem.strerror}); choose a place that can be written to."
        ) from problem
    if directory / CONFIG in made:
        recorded.to_toml(directory / CONFIG)
    return made


def _clear(directory: Path, started: list[Path]) -> None:
    """Take away what a refused fit has made, unless something was measured."""
    if (directory / JOURNAL).exists():
        return
    for path in started:
        path.rmdir() if path == directory else path.unlink()


def _left(budget: float | None, spent: float) -> Any:
    """Return what is left of a budget; None if there is none or nothing is left of it."""
    return None if budget is None or budget <= spent else budget - spent


def _verbosity(quiet: bool, verbose: bool) -> int:
    return 0 if quiet else 2 if verbose else 1
