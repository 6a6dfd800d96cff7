"""What the seed paper claims, set against what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.incumbents import Array, Comparison, Runs, log_advantage, quartiles

TIE = 0.01
"""An advantage of less than one per cent decides nothing."""
MATERIAL = 0.15
"""A difference of this size matters: it is what ADMM is asked to end below its rival."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the seed says, what was measured, and whether it holds."""

    figure: str
    claim: str
    measured: str
    holds: bool | None
    """None if the data cannot tell."""

    @property
    def verdict(self) -> str:
        """In words."""
        return {True: "holds", False: "does not hold", None: "not tested"}[self.holds]


def adaptive_claim(figure: str, name: str, fixed: Sequence[str], runs: Runs, times: Array) -> Claim:
    """Adaptive precision is best at any time: over log time it lies below every fixed precision."""
    advantages = {f: log_advantage(runs[name], runs[f], times) for f in fixed}
    closest = min(fixed, key=lambda f: float(np.median(advantages[f])))
    least = float(np.median(advantages[closest]))
    wins = int((advantages[closest] > TIE).sum())
    medians = np.array([quartiles(runs[f], times)[0] for f in fixed])
    # A fixed precision that has no incumbent yet does not lead.
    lead = np.where(np.isnan(medians), np.inf, medians).min(axis=0)
    ratio = quartiles(runs[name], times)[0] / lead
    ratio = ratio[np.isfinite(lead) & np.isfinite(ratio)]
    return Claim(
        figure,
        f"{name} is better over the whole run than every fixed precision",
        f"closest is {closest}: {name} is {_percent(least)} than it on average over log time and better on "
        f"{wins} of {len(advantages[closest])} problems; best or level with the best fixed one "
        f"{np.mean(ratio <= 1 + TIE):.0%} of log time, {ratio.max():.2f} times above it at worst",
        least > TIE,
    )


def rival_claim(
    figure: str, comparison: Comparison, *, speedup: float, improvement: float, initial: int = 0
) -> Claim:
    """ADMM reaches a rival's final value so much sooner, and ends so much lower.

    It has to be so both problem by problem and for the median curves. `initial` is the number of
    random points with which the rival begins; a rival that got no further tests nothing.
    """
    c = comparison
    asked = f"{speedup:g} times sooner and ends {improvement:g} % lower"
    measured = (
        f"{c.speedup:.3g} times sooner, {c.improvement:+.1f} % (medians over problems); "
        f"{c.speedup_of_medians:.3g} times, {c.improvement_of_medians:+.1f} % (median curves); "
        f"{c.evaluations:.0f} against {c.rival_evaluations:.0f} evaluations"
    )
    holds: bool | None = (
        min(c.speedup, c.speedup_of_medians) >= speedup
        and min(c.improvement, c.improvement_of_medians) >= improvement
    )
    if initial:
        suggestions = max(0.0, c.rival_evaluations - initial)
        measured += f", of which its model proposed {suggestions:.0f}"
        # Whoever is faster than ten random points has not been compared with Bayesian optimisation.
        holds = holds if suggestions else None
    return Claim(
        figure,
        f"{c.curve} reaches the final value of {c.rival} "
        + (asked if improvement else "sooner and ends lower"),
        measured,
        holds,
    )


def warm_claim(figure: str, cold: str, warm: str, runs: Runs, times: Array) -> Claim:
    """A warm start is better than a cold one in the first tenth of the time."""
    early = log_advantage(runs[warm], runs[cold], times[times <= times[-1] / 10])
    end = log_advantage(runs[warm], runs[cold], times[-1:])
    return Claim(
        figure,
        f"{warm} is better than {cold} at early times",
        f"{_percent(float(np.median(early)))} on average over log time up to {times[-1] / 10:g} s and better "
        f"on {int((early > TIE).sum())} of {len(early)} problems, worse on {int((early < -TIE).sum())}; "
        f"{_percent(float(np.median(end)))} at the end",
        float(np.median(early)) > TIE,
    )


def rho_claim(figure: str, reference: str, others: Mapping[str, str], runs: Runs) -> Claim:
    """No rho makes a material difference to where rho = 1 ends.

    Medians inside the quartiles of rho = 1 alone would prove little, for problems differ more than
    any setting does; so the same is asked of the pairs, problem by problem.
    """
    own = np.array([run.final for run in runs[reference]])
    low, median, high = np.quantile(own, [0.25, 0.5, 0.75])
    ends, ratios = {}, {}
    for rho, name in others.items():
        finals = np.array([run.final for run in runs[name]])
        ends[rho], ratios[rho] = np.median(finals), np.median(finals / own)
    return Claim(
        figure,
        f"Every rho of {', '.join(others)} ends inside the inter-quartile range of rho = 1, "
        f"and within {MATERIAL:.0%} of it problem by problem",
        f"rho = 1 ends at {median:.4f} [{low:.4f}, {high:.4f}]; "
        + ", ".join(f"{rho} at {ends[rho]:.4f} ({ratios[rho]:.2f} times)" for rho in others),
        all(low <= end <= high for end in ends.values())
        and all(abs(ratio - 1) <= MATERIAL for ratio in ratios.values()),
    )


def _percent(advantage: float) -> str:
    share = 100 * (1 - np.exp(-abs(advantage)))
    return f"{share:.1f} % {'lower' if advantage >= 0 else 'higher'}"
