"""A search in plain words: why this pipeline, what the fence costs, what was tried, how sure it is."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fenceline.problem.objective import NamedScore, named
from fenceline.problem.problem import Problem
from fenceline.report.certainty import meaning, price_of_certainty
from fenceline.report.sections import algorithms
from fenceline.report.subject import Subject
from fenceline.result.diagnosis import written
from fenceline.result.result import Result

if TYPE_CHECKING:
    from fenceline.certificate.certify import Certificate

_LOOSENED = 0.1
"""Prices are shown for a bound moved by this share of its scale."""
_MOST_MOVES = 3
_MOST_REASONS = 5


@dataclass(frozen=True, slots=True)
class Cost:
    """What one constraint costs at the best pipeline."""

    constraint: str
    price: float
    """By how much the objective falls per unit the bound is loosened; NaN if nothing is inside."""
    step: float
    """A tenth of the constraint's scale ..."""
    gain: float
    """... and what loosening by that much would bring, by the price."""


@dataclass(frozen=True, slots=True)
class Move:
    """Bounds that would have admitted a pipeline which was measured and is better."""

    pipeline: str
    objective: float
    bounds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Tried:
    """How one algorithm did."""

    module: str
    algorithm: str
    evaluations: int
    feasible: int
    failed: int
    best: float | None
    """The best objective it reached inside the fence."""
    looks: int = 0
    """How often it was looked at with a part of the rows."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The facts of a search, and the words for them."""

    status: str
    objective: str
    evaluations: int
    feasible: int
    pipeline: str | None
    members: int
    """How many pipelines vote; 1 unless an ensemble was asked for."""
    value: float | None
    message: str
    lowest: float | None
    """The smallest objective measured inside the fence."""
    rival: Move | None
    """The best feasible pipeline with another algorithm in the last module."""
    costs: tuple[Cost, ...]
    """Most expensive first."""
    moves: tuple[Move, ...]
    tried: tuple[Tried, ...]
    failures: Mapping[str, int]
    """Reason -> how many pipelines failed with it."""
    stopped: int
    """How many were being measured when the budget ended."""
    certificate: tuple[str, ...]
    threshold: str | None = None
    """Where the model decides between two classes, if that was computed."""
    fits: int = 1
    """How many fits of the one pipeline vote, each made without one fold."""

    def to_dict(self) -> dict[str, Any]:
        """Return the facts in JSON's types."""
        return asdict(self)

    def __str__(self) -> str:
        parts = {
            "Why this pipeline": self._why(),
            "What the fence costs": self._price(),
            "What was tried": self._trials(),
            "How sure it is": self.certificate,
        }
        return "\n\n".join(
            "\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in parts.items()
        )

    @property
    def _score(self) -> NamedScore:
        return named(self.objective)

    def _number(self, loss: float) -> str:
        """Write a value of the objective in the score's own direction."""
        return f"{self._score.value(loss):.5g}"

    def _written(self, loss: float) -> str:
        return self._score.written(loss, 5)

    def _why(self) -> Iterator[str]:
        if self.pipeline is None:
            yield self.message
            return
        yield self.pipeline
        if self.fits > 1:
            yield f"was fitted {self.fits} times, once without each fold; the fits vote."
        if self.threshold is not None:
            yield f"decides at {self.threshold}, computed from scores of held-out rows."
        assert self.value is not None
        assert self.lowest is not None
        if self.members > 1:
            yield (
                f"vote together, with {self._written(self.value)}; the best alone of the "
                f"{self.feasible} pipelines inside the fence has {self._number(self.lowest)}; "
                f"{self.evaluations} were measured."
            )
        elif self.value <= self.lowest:
            yield (
                f"has the {self._score.best} {self._score.name}, {self._number(self.value)}, of the "
                f"{self.feasible} pipelines inside the fence; {self.evaluations} were measured."
            )
        else:
            yield (
                f"has {self._written(self.value)}. Of {self.evaluations} pipelines measured, "
                f"{self.feasible} were inside the fence; the {self._score.best} of them, "
                f"{self._number(self.lowest)}, keeps less room to the fence."
            )
        if self.rival is not None:
            yield (
                f"The best that ends otherwise is {self.rival.pipeline}, with "
                f"{self._number(self.rival.objective)}."
            )

    def _price(self) -> Iterator[str]:
        if not self.costs:
            yield "There is no fence: no constraint was given."
            return
        # Less than what is printed of the objective is nothing to speak of.
        least = 1e-5 * abs(self.lowest or 0.0)
        felt = [cost for cost in self.costs if cost.gain > least]
        if self.pipeline is not None and not felt and self.moves:
            yield "Small moves of the bounds would change nothing; larger ones would:"
        elif self.pipeline is not None and not felt:
            yield (
                "Nothing: no constraint presses on this pipeline, and none that was measured outside "
                "the fence is better."
            )
        for i, cost in enumerate(felt):
            head = "Most expensive" if i == 0 else "Then"
            yield (
                f"{head}: '{cost.constraint}'. Loosened by {cost.step:.3g}, {self._score.name} would "
                f"{'rise' if self._score.larger_is_better else 'fall'} by about {cost.gain:.2g} (an "
                "estimate, from the slope at the best pipeline)."
            )
        for move in self.moves:
            bounds = " and ".join(f"{c} to {written(b)}" for c, b in move.bounds.items())
            yield (
                f"Moving {bounds} would have admitted {move.pipeline}, measured with "
                f"{self._written(move.objective)}."
            )
        if self.pipeline is not None and felt and not self.moves:
            yield "No pipeline that was measured outside the fence is better."

    def _trials(self) -> Iterator[str]:
        if not self.evaluations:
            yield "Nothing: no pipeline was measured."
        elif not self.tried:
            yield "Every module has a single algorithm: only hyper-parameters were chosen."
        for one in self.tried:
            best = "none inside" if one.best is None else f"best {self._number(one.best)}"
            failed = f", {one.failed} failed" if one.failed else ""
            if one.looks:
                failed += f", {one.looks} look{'' if one.looks == 1 else 's'} at fewer rows"
            yield (
                f"{one.module}: {one.algorithm}, tried {one.evaluations}, {one.feasible} inside{failed}, {best}"
            )
        for reason, count in self.failures.items():
            yield f"failed, {count} of them: {reason}"
        if self.stopped:
            yield f"{self.stopped} more were stopped by the end of the budget"


def explain(
    source: Any,
    certificate: "Certificate | None" = None,
    *,
    prices: Mapping[str, float] | None = None,
) -> Explanation:
    """Explain a search.

    Parameters
    ----------
    source : Result, FencelineClassifier or FencelineRegressor
        A result, or an estimator that has been fitted.
    certificate : Certificate, optional
        What unseen rows say; an estimator brings its own.
    prices : mapping of str to float, optional
        What each constraint costs; by default the result's own. A result that was read back from a
        journal has none.
    """
    subject = Subject.of(source)
    result, problem = subject.result, subject.result.problem
    certificate = certificate or subject.certificate
    # Never a silent substitute: a nearest miss is told in the message, as one.
    found = result.best is not None
    text = " + ".join(
        f"{votes} x {member}" if len(subject.members) > 1 else str(member)
        for member, votes in subject.members.items()
    )
    failures = Counter(
        f"{e.status}: {e.message}" if e.message else e.status for e in result.full if e.failed
    )
    return Explanation(
        result.status if certificate is None else certificate.status,
        problem.objective,
        len(result.full),
        sum(e.feasible for e in result.evaluations),
        text if found else None,
        len(subject.members),
        subject.objective if found else None,
        result.message,
        result.best.objective if result.best is not None else None,
        _rival(subject) if found else None,
        _costs(problem, (prices or result.prices) if found else {}),
        tuple(_moves(result)),
        tuple(_tried(result)),
        dict(failures.most_common(_MOST_REASONS)),
        sum(e.status == "cancelled" for e in result.evaluations),
        tuple(_sureness(certificate, subject, problem, found)),
        subject.threshold if found else None,
        subject.fits,
    )


def _rival(subject: Subject) -> Move | None:
    modules = [m.name for m in subject.result.problem.space.modules if len(m.algorithms) > 1]
    if not modules:
        return None
    chosen = {member[modules[-1]].algorithm for member in subject.members}
    others = [
        e
        for e in subject.result.evaluations
        if e.feasible and e.configuration[modules[-1]].algorithm not in chosen
    ]
    rival = min(others, key=lambda e: e.objective, default=None)
    return None if rival is None else Move(str(rival.configuration), rival.objective, {})


def _costs(problem: Problem, prices: Mapping[str, float]) -> tuple[Cost, ...]:
    costs = []
    for constraint in problem.constraints:
        # Without a pipeline inside there is nothing that a bound could cost.
        price, step = prices.get(str(constraint), math.nan), _LOOSENED * constraint.scale
        costs.append(Cost(str(constraint), price, step, price * step))
    return tuple(sorted(costs, key=lambda cost: -cost.gain if cost.gain > 0 else 0.0))


def _moves(result: Result) -> Iterator[Move]:
    for move in result.moves(_MOST_MOVES):
        bounds = {str(c): bound for c, bound in move.bounds.items() if bound != c.bound}
        yield Move(str(move.evaluation.configuration), move.evaluation.objective, bounds)


def _tried(result: Result) -> Iterator[Tried]:
    """Yield the algorithms of every module that offers a choice, those tried most often first."""
    for module, rows in algorithms(result).items():
        for row in sorted((r for r in rows if r.times or r.looks), key=lambda r: -r.times):
            best = row.best if row.feasible else None
            yield Tried(module, row.algorithm, row.times, row.feasible, row.failed, best, row.looks)


def _sureness(
    certificate: "Certificate | None", subject: Subject, problem: Problem, found: bool
) -> Iterator[str]:
    if certificate is not None:
        yield from (line.strip() for line in str(certificate).splitlines())
        if certificate.rows and certificate.status != "infeasible":
            yield from meaning(certificate)
        if price := price_of_certainty(subject):
            yield price
        for one in subject.finalists if len(subject.finalists) > 1 else ():
            at = f" at {one.decides_at}" if one.decides_at else ""
            score = subject.score
            yield (
                f"finalist: {one.configuration}{at}, {score.name} = {score.value(one.objective):.4g} "
                f"by the folds, {score.value(one.unseen):.4g} on unseen rows: {one.verdict}"
                f"{', delivered' if subject.delivers(one) else ''}"
            )
    elif not problem.constraints:
        yield "Nothing had to be certified: no constraint was given."
    elif not found:
        yield "There is nothing to certify: no pipeline was found inside the fence."
    else:
        yield (
            "Not certified: these are the values that the search itself measured, and a search picks "
            "what looks best; measure the pipeline again on rows it has not seen."
        )
