"""The fixed sequence: which candidates are tested on unseen rows, in which order, and when it ends.

Each candidate is tested at the full risk, the safest first, and the first that fails ends the
sequence. No certificate is false unless the first candidate that is truly outside the fence passes
its own test, so all certificates together are wrong no more often than that one (Learn-then-Test,
https://arxiv.org/abs/2110.01052; Pareto Testing, https://arxiv.org/abs/2210.07913). The order must
come from the rows of the search alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from fenceline.pipelines.ensemble import Candidate, Members
from fenceline.pipelines.threshold_curve import Threshold

START = 2.33
"""The assurance that the first candidate is to have: 99 in 100 of such tests pass."""
LAST = -1.645
"""The assurance of the last one: 1 in 20 passes, as few as of those that are at the bound."""
STEPS = 10
"""How many levels of assurance choose the pipelines; 14 certify no more, and no better models."""
FINE = 0.1
"""The least difference in assurance between two thresholds that are tested between two such steps.

They cost no refit, and thresholds of one pipeline mostly pass or fail together, so that the last that
passes is near the best that can. On a table with a selection-rate difference of at most 0.1 the ten
distances alone went from a loss of 0.337 to one of 0.297, which failed."""


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """A pipeline at one threshold, as the rows of the search show it."""

    candidate: Candidate
    objective: float
    """By the folds; smaller is better."""
    room: float
    """Distance to the nearest bound, in standard errors that it is likely to have on unseen rows."""
    metrics: Mapping[str, float]
    """As cross-validation measured them, at this threshold; ``threshold`` itself is that of the fit, once there is one."""
    log_odds: Threshold | None = None
    """The threshold by the folds, or each group's, where it is not that of the candidate itself."""
    merit: float = 0.0
    """What decides between thresholds where the objective only ranks; smaller is better."""
    gain: float = 0.0
    """What it is better by than an answer that is the same for every row."""
    selected: float | None = None
    """The share of rows that it chooses by the folds, where it has one threshold."""
    assurance: float = 0.0
    """The normal score of the chance that it passes its test; 0 is as likely as not."""

    @property
    def worth(self) -> tuple[float, float]:
        """By which options are compared; smaller is better."""
        return self.objective, self.merit

    @property
    def pipeline(self) -> Members:
        """What has to be fitted; options with the same need one fit."""
        return self.candidate.members

    @property
    def key(self) -> tuple[Members, Threshold | None]:
        """What it is, whatever room it is thought to have."""
        return self.pipeline, self.log_odds


def fixed_sequence(
    options: Sequence[Option],
    *,
    pipelines: int = STEPS,
    fit_seconds: Callable[[Candidate], float] = lambda candidate: 0.0,
    seconds: float = float("inf"),
    from_safest: bool = True,
) -> list[Option]:
    """Return the options to test, from safe to bold: at each level of assurance the best.

    Parameters
    ----------
    options : sequence of Option
        All that may be tested; those outside the fence are left out.
    pipelines : int
        The most that may be fitted.
    fit_seconds : callable
        How long it takes to fit a candidate.
    seconds : float
        For all fits together; one pipeline stays, however long it takes.
    from_safest : bool
        Whether safer thresholds of the first pipeline come before its own.
    """
    inside = [option for option in options if option.room >= 0]
    chosen = _by_assurance(inside)
    while len(kept := {o.pipeline: fit_seconds(o.candidate) for o in chosen}) > 1 and (
        len(kept) > pipelines or sum(kept.values()) > seconds
    ):
        # Without one pipeline after the other: that which is missed least for the time it takes.
        without = {
            p: _by_assurance([o for o in inside if o.pipeline in kept and o.pipeline != p])
            for p in kept
        }
        dropped = min(without, key=lambda p: _regret(without[p], chosen) / (kept[p] or 1.0))
        chosen = without[dropped]
    safer = _safer_thresholds(chosen[0], inside) if chosen and from_safest else []
    return safer + _in_small_steps(chosen, inside)


def walk(sequence: Iterable[Option], certified: Callable[[Option], bool | None]) -> list[Option]:
    """Test options in their order until one fails, and return those that passed.

    Parameters
    ----------
    sequence : iterable of Option
        In an order that no unseen row had a part in.
    certified : callable
        Tests one on unseen rows. None where it could not be tested at all, for want of time or
        because it could not be fitted: the next then takes its place.
    """
    passed = []
    for option in sequence:
        verdict = certified(option)
        if verdict:
            passed.append(option)
        elif verdict is not None:
            break
    return passed


def _by_assurance(options: Sequence[Option]) -> list[Option]:
    """Return the best option at each of several levels of assurance, the safest first."""
    if not options:
        return []
    safest = max(options, key=lambda o: (o.assurance, -o.objective, -o.merit))
    chosen: dict[int, Option] = {}
    for level in np.linspace(START, LAST, STEPS).tolist():
        enough = [o for o in options if o.assurance >= level]
        # Where none is as safe as a start should be, the one that comes nearest to it.
        best = min(enough, key=lambda o: (o.worth, -o.assurance)) if enough else safest
        chosen.setdefault(id(best), best)
    ordered = sorted(chosen.values(), key=lambda o: -o.assurance)
    # What is no better than a safer one has nothing to add.
    ordered = ordered[:1] + [b for a, b in pairwise(ordered) if b.worth < a.worth]
    return ordered[_best_start(ordered) :]


def _best_start(ordered: Sequence[Option]) -> int:
    """Return the place from which tests promise most: what they are likely to end with, times the chance of the first.

    Where none has much room the safest may be little safer than one that gains far more: on a table
    a loss of .30 was tested first, and failed, so that one of .02 was never tested.
    """
    found: list[float] = []
    chances = [NormalDist().cdf(option.assurance) for option in ordered]
    likely, following = 0.0, 0.0
    for option, chance in zip(reversed(ordered), reversed(chances), strict=True):
        # Errors on the same rows are alike: between independent and the same.
        passes = (following + min(1.0, following / chance)) / 2 if chance else 0.0
        likely = (1 - passes) * option.gain + passes * likely
        found.append(likely * chance**2)
        following = chance
    return int(np.argmax(found[::-1]))


def _safer_thresholds(start: Option, options: Sequence[Option]) -> list[Option]:
    """Return safer and weaker thresholds of the pipeline that a sequence starts with, the safest first.

    Of one fit, a rate falls with the threshold on any rows: where the start passes its test, so do all
    that are safer, and where it fails, the last of them that passes is certified instead. It costs
    neither a fit nor a certificate (docs/decisions/0028).
    """
    found = [start]
    for option in sorted(options, key=lambda o: o.assurance):
        last = found[-1]
        if (
            option.pipeline == start.pipeline
            and option.assurance >= last.assurance + FINE
            and last.worth < option.worth
        ):
            found.append(option)
    return found[:0:-1]


def _in_small_steps(chosen: Sequence[Option], options: Sequence[Option]) -> list[Option]:
    """Return the steps with other thresholds of the same pipelines between each and the next."""
    finer = list(chosen[:1])
    for safe, bold in pairwise(chosen):
        between = [
            o
            for o in options
            if o.pipeline in (safe.pipeline, bold.pipeline)
            and bold.assurance + FINE <= o.assurance
            and bold.worth < o.worth
        ]
        for option in sorted(between, key=lambda o: -o.assurance):
            if option.assurance <= finer[-1].assurance - FINE and option.worth < finer[-1].worth:
                finer.append(option)
        finer.append(bold)
    return finer


def _regret(fewer: Sequence[Option], chosen: Sequence[Option]) -> float:
    """Return what is lost, over all levels, when options are left out; in units of the objective."""
    spread = max(sum(o.worth) for o in chosen) - min(sum(o.worth) for o in chosen)
    lost = 0.0
    for option in chosen:
        instead = [sum(o.worth) for o in fewer if o.assurance >= min(option.assurance, START)]
        # Nothing as safe is left: worse than the worst that there was.
        lost += min(instead) - sum(option.worth) if instead else 2 * spread
    return lost
