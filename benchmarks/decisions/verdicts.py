"""The targets of the comparison of decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from benchmarks.decisions.paired import paired
from benchmarks.decisions.plan import METHODS
from benchmarks.pages import Verdict

if TYPE_CHECKING:
    from benchmarks.decisions.report import Case

OURS = "fenceline"
BY_HAND = ("newcomer", "reweighed")
CONTRADICTED = 0.05
WHEREVER = 0.95
BEHIND, BEHIND_ERRORS, BEHIND_SHARE = 0.01, 2.0, 0.1


def verdicts_of(cases: Sequence[Case]) -> list[Verdict]:
    """Judge certificates and objectives."""
    ours = {(c.table, c.fence): c for c in cases if c.method == OURS}
    certified = [case for case in ours.values() if case.certified]
    broken = sum(case.broken for case in certified)
    share = broken / len(certified) if certified else math.nan
    found = [
        Verdict(
            f"contradicted certificates at most {CONTRADICTED:.0%}",
            f"{broken} of {len(certified)}",
            share <= CONTRADICTED if certified else None,
        )
    ]
    possible = {
        (c.table, c.fence)
        for c in cases
        if c.method in BY_HAND and c.certified and (c.table, c.fence) in ours
    }
    also = sum(ours[place].certified for place in possible)
    found.append(
        Verdict(
            f"certified where the answer by hand is, in at least {WHEREVER:.0%}",
            f"{also} of {len(possible)}",
            also >= WHEREVER * len(possible) if possible else None,
        )
    )
    for method in METHODS.values():
        differences = [] if method.ours else compared(cases, method.name)
        if differences:
            mean = fmean(differences)
            asked = f"ahead on average of {method.title}, where that keeps the fence"
            found.append(Verdict(asked, f"{mean:+.4f} on {len(differences)}", mean > 0))
    behind = behind_of(cases)
    asked = f"behind the best that keeps the fence on at most {BEHIND_SHARE:.0%} of cases"
    named = f" ({', '.join('/'.join(place) for place in behind)})" if behind else ""
    met = len(behind) <= BEHIND_SHARE * len(ours) if ours else None
    found.append(Verdict(asked, f"{len(behind)} of {len(ours)}{named}", met))
    return found


def behind_of(cases: Sequence[Case], *, certified: bool = False) -> list[tuple[str, str]]:
    """Return the cases in which we are behind the best rival inside the fence, or the best that is certified, too.

    What has no certificate to earn may touch a bound, and half of such answers are inside by luck.
    """
    ours = {(c.table, c.fence): c for c in cases if c.method == OURS}
    rivals = {place: _rivals(cases, place) for place in ours}
    return [
        place
        for place, case in ours.items()
        if is_behind(case, [r for r in rivals[place] if r.certified or not certified])
    ]


def compared(cases: Sequence[Case], method: str) -> list[float]:
    """Return our objective minus a rival's, case by case, where the rival keeps the fence."""
    ours = {(c.table, c.fence): c for c in cases if c.method == OURS and c.answered}
    rivals = (c for c in cases if c.method == method and c.inside)
    return [
        ours[place].score - case.score
        for case in rivals
        if (place := (case.table, case.fence)) in ours
    ]


def is_behind(own: Case, rivals: Sequence[Case]) -> bool:
    """Tell whether the best rival inside the fence is ahead by more than chance.

    Where we have no answer, or one that breaks the fence, any rival inside it is ahead.
    """
    if not rivals:
        return False
    if not own.answered or own.broken:
        return True
    best = max(rivals, key=lambda case: case.score)
    assert own.truth is not None and own.chosen is not None and best.chosen is not None  # noqa: PT018
    difference, error = paired(own.objective, own.truth, own.chosen, best.chosen)
    return -difference > BEHIND and -difference > BEHIND_ERRORS * error


def _rivals(cases: Sequence[Case], place: tuple[str, str]) -> list[Case]:
    return [c for c in cases if (c.table, c.fence) == place and c.method != OURS and c.inside]
