"""A run directory after its fit: what it was asked, what it measured, and the model."""

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from fenceline.cli.outcome import MODEL, SUMMARY, certificate_of
from fenceline.cli.settings import CONFIG, Settings
from fenceline.errors import FencelineError, StoreError
from fenceline.result.result import Ending, Result
from fenceline.store.run_directory import JOURNAL, META

if TYPE_CHECKING:
    from fenceline.certificate.certify import Certificate
    from fenceline.problem.evaluation import Evaluation
    from fenceline.problem.problem import Problem


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_cost(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("constraint"), str)
        and (value.get("price", "") is None or _is_number(value.get("price")))
    )


# What is read again of a summary, and what it must look like: anybody may have written it.
_FITTING: dict[str, Callable[[Any], bool]] = {
    "status": lambda value: isinstance(value, str),
    "ended": lambda value: isinstance(value, str) and value in get_args(Ending),
    "seconds": lambda value: _is_number(value) and 0 <= value <= sys.float_info.max,
    "evaluations": lambda value: type(value) is int and value >= 0,
    "constraints": lambda value: isinstance(value, list) and all(map(_is_cost, value)),
    "certificate": lambda value: value is None or isinstance(value, dict),
}


@dataclass(frozen=True)
class Run:
    """A directory that :func:`open_run` found to hold a run."""

    path: Path

    @property
    def settings(self) -> Settings:
        """What the fit was asked to do."""
        if not (self.path / CONFIG).exists():
            raise StoreError(
                f"{self.path} has no {CONFIG}: the run was started from Python, and is continued there "
                "with the same run_dir."
            )
        return Settings.from_toml(self.path / CONFIG)

    @property
    def summary(self) -> dict[str, Any]:
        """What the fit came to; empty if it was killed before it could say."""
        try:
            found = json.loads((self.path / SUMMARY).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or not all(
            name in found and fits(found[name]) for name, fits in _FITTING.items()
        ):
            raise self._unreadable()
        return found

    def _unreadable(self) -> StoreError:
        return StoreError(
            f"{self.path / SUMMARY} cannot be read; remove it, and run fenceline resume {self.path}."
        )

    @property
    def certificate(self) -> "Certificate | None":
        """What unseen rows said of the pipeline, also of one that they refused."""
        try:
            return certificate_of(self.summary.get("certificate") or {})
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise self._unreadable() from problem

    @property
    def has_model(self) -> bool:
        """Whether something inside the fence was found and saved."""
        return (self.path / MODEL).exists()

    def model(self) -> Any:
        """Return the fitted estimator."""
        from fenceline import load

        if not self.has_model:
            status = self.summary.get("status", "unfinished")
            raise StoreError(
                f"{self.path} has no model: the run is {status}; see fenceline explain {self.path}, or go "
                f"on with fenceline resume {self.path}."
            )
        return load(self.path / MODEL)

    def result(self) -> Result:
        """Return what the journal holds, as far as it goes."""
        from fenceline.store.stored_run import read

        stored = read(self.path)
        summary = self.summary
        evaluations = tuple(stored.evaluations)
        if summary and not any(e.ok and not e.look for e in evaluations):
            evaluations += self._late(stored.problem, summary)
        return Result(
            stored.problem,
            evaluations,
            summary.get("ended", "interrupted"),
            summary.get("seconds", 0.0),
            tuple(stored.iterations),
        )

    def _late(self, problem: "Problem", summary: dict[str, Any]) -> tuple["Evaluation", ...]:
        """Return the one pipeline that was measured after the budget, where that was too short for any.

        It is in the summary alone: the search did not ask for it.
        """
        from fenceline.problem.evaluation import Evaluation

        try:
            shown = summary["pipelines"][0]["configuration"] if summary["pipelines"] else None
            objective = summary["objective"]["value"]
            if shown is None or objective is None:
                return ()
            told = {line["constraint"]: line for line in summary["constraints"]}
            metrics = {problem.objective: float(objective)}
            errors = {}
            for c in problem.constraints:
                metrics[c.metric] = float(told[str(c)]["value"])
                errors[c.metric] = float(told[str(c)]["standard_error"])
            configuration = problem.space.configuration({m: tuple(v) for m, v in shown.items()})
        except (KeyError, TypeError, ValueError, AttributeError, FencelineError) as wrong:
            raise self._unreadable() from wrong
        violation = problem.violation(metrics, errors)
        objective = metrics[problem.objective]
        return (Evaluation(configuration, metrics, objective, violation, errors=errors),)

    def measured(self) -> int:
        """Return how many evaluations have been spent; a look counts as its share of the rows."""
        from fenceline.store.records import Finish
        from fenceline.store.run_directory import read_run

        finished = (e.fidelity for e in read_run(self.path)[1] if isinstance(e, Finish))
        return math.ceil(sum(finished))

    def full(self) -> int:
        """Return how many pipelines have been measured in full."""
        from fenceline.store.records import Finish
        from fenceline.store.run_directory import read_run

        return sum(isinstance(e, Finish) and e.fidelity == 1.0 for e in read_run(self.path)[1])

    @property
    def answered(self) -> int:
        """How many pipelines, measured in full, the answer was chosen from; 0 if there is none yet."""
        found: int = self.summary.get("evaluations", 0)
        return found

    @property
    def title(self) -> str:
        """What a report of the run is called."""
        named = (self.path / CONFIG).exists() and self.settings.title
        return named or self.path.resolve().name

    def stamp(self) -> tuple[int, ...]:
        """Return numbers that change whenever the run has gone on."""
        found = []
        for name in (JOURNAL, SUMMARY, MODEL):
            try:
                file = (self.path / name).stat()
            except FileNotFoundError:
                continue
            found += [file.st_mtime_ns, file.st_size]
        return tuple(found)

    @property
    def running(self) -> bool:
        """Whether more was measured than the answer knows of: the run goes on, or was cut short."""
        answer, journal = self.path / SUMMARY, self.path / JOURNAL
        if not answer.exists():
            return True
        return answer.stat().st_mtime_ns < journal.stat().st_mtime_ns

    def page(self, *, live: bool = False) -> str:
        """Return the report of the run as it stands: the model's, or while it goes on the search's."""
        from fenceline.report.write import report_page

        running = self.running
        subject = self.result() if running else self.subject()
        return report_page(subject, title=self.title, running=running, live=live)

    def subject(self) -> Any:
        """Return what reports and explanations are about: the model, else the search alone."""
        return self.model() if self.has_model else self.result()


def open_run(path: Path) -> Run:
    """Find a run, or say what is wrong with the directory."""
    if not path.exists():
        raise StoreError(
            f"There is no run directory {path}; check the path, or make one with fenceline fit."
        )
    if not path.is_dir():
        raise StoreError(f"{path} is a file; name the run directory that fenceline fit wrote.")
    try:
        names = {entry.name for entry in path.iterdir()}
    except OSError as problem:
        raise StoreError(
            f"{path} cannot be read ({problem.strerror}); check its permissions."
        ) from problem
    if not names & {META, CONFIG}:
        raise StoreError(
            f"{path} holds no run of Fenceline; name the directory that fenceline fit wrote."
        )
    if CONFIG in names:
        Settings.from_toml(path / CONFIG)  # a broken one is told before anything else
    if META not in names or JOURNAL not in names:
        missing = META if META not in names else JOURNAL
        raise StoreError(
            f"{path} has no {missing}: the run ended before it measured anything, or the file was removed; "
            f"start anew with fenceline fit --config {path / CONFIG} --out OTHER."
        )
    return Run(path)
