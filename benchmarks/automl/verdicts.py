"""The targets of the comparison at equal wall time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean, median
from typing import TYPE_CHECKING

from benchmarks.automl.plan import BUDGETS
from benchmarks.catalogue import Task
from benchmarks.pages import Verdict

if TYPE_CHECKING:
    from benchmarks.automl.report import Results

OURS, FLOOR, RIVAL = "fenceline", "hgb", "flaml"
BEHIND = {"binary": 0.005, "regression": 0.01}
"""AUROC and R2 that a table may be behind the floor."""
BEHIND_LOG_LOSS = 0.02
"""A share of the floor's own log loss."""
FLOOR_ALLOWED = {10: 3, 60: 0}
"""How many tables may be behind at these budgets."""
WIN_SHARE = 0.55
TIME_SHARE = 0.5
WITHIN_AUTOGLUON = 0.003
_FLOOR_ERRORS = 2.0


def is_behind(task: Task, difference: float, error: float, floor: float) -> bool:
    """Tell whether a difference to the floor is more than is allowed, and more than chance."""
    allowed = BEHIND_LOG_LOSS * abs(floor) if task == "multiclass" else BEHIND[task]
    return -difference > allowed and -difference > _FLOOR_ERRORS * error


def floor_verdicts(results: Results) -> Iterator[Verdict]:
    """Judge whether we are behind plain boosting anywhere."""
    for budget, allowed in FLOOR_ALLOWED.items():
        behind, differences = [], []
        for entry in results.entries:
            found = results.difference(entry, budget, OURS, FLOOR)
            floor = results.score(entry, FLOOR, budget)
            if found is None or floor is None:
                continue
            differences.append(found[0])
            if is_behind(entry.task, *found, floor):
                behind.append(entry.name)
        whole = 0 < len(differences) == len(results.entries)
        names = f" ({', '.join(behind)})" if behind else ""
        yield Verdict(
            f"at {budget} s at most {allowed} tables behind HistGradientBoosting",
            f"{len(behind)} of {len(differences)}{names}",
            len(behind) <= allowed if whole else None,
        )
        mean = fmean(differences) if differences else math.nan
        yield Verdict(
            f"mean difference at {budget} s positive", f"{mean:+.4f}", mean > 0 if whole else None
        )


def rival_verdicts(results: Results) -> Iterator[Verdict]:
    """Judge whether we are ahead of FLAML, of every single-model search, and near AutoGluon."""
    for budget in BUDGETS:
        ours, theirs = (results.normalised(name, budget) for name in (OURS, RIVAL))
        asked = f"ahead of FLAML in mean normalised score at {budget} s"
        known = not math.isnan(ours - theirs)
        said = f"{ours:.4f} against {theirs:.4f}" if known else ""
        yield Verdict(asked, said, ours > theirs if known else None)
    last = BUDGETS[-1]
    wins, shares = [], []
    for entry in results.entries:
        mine, theirs_ = (results.score(entry, name, last) for name in (OURS, RIVAL))
        run = results.get(entry, RIVAL, last)
        if mine is None or theirs_ is None or run is None:
            continue
        wins.append(0.5 if mine == theirs_ else float(mine > theirs_))
        shares.append(results.reached(entry, OURS, theirs_) / run.seconds)
    whole = len(wins) == len(results.entries) > 0
    won = fmean(wins) if wins else math.nan
    asked = f"ahead of FLAML on at least {WIN_SHARE:.0%} of tables at {last} s"
    yield Verdict(asked, f"{won:.0%} of {len(wins)}", won >= WIN_SHARE if whole else None)
    share = median(shares) if shares else math.nan
    asked = f"FLAML's final score in at most {TIME_SHARE:g} of its time, median"
    said = "not reached on half the tables" if math.isinf(share) else f"{share:.2f}"
    yield Verdict(asked, said, share <= TIME_SHARE if whole else None)
    for budget in BUDGETS:
        ranks = results.ranks(budget)
        said = ", ".join(f"{n} {r:.2f}" for n, r in sorted(ranks.items(), key=lambda item: item[1]))
        best = (
            min(ranks, key=ranks.__getitem__) == OURS if OURS in ranks and len(ranks) > 1 else None
        )
        yield Verdict(f"best mean rank of single-model searches at {budget} s", said, best)
    pairs = [
        (results.score(e, "fenceline-votes", last), results.score(e, "autogluon", last))
        for e in results.entries
        if e.task == "binary"
    ]
    scored = [(mine, best) for mine, best in pairs if mine is not None and best is not None]
    gap = fmean(mine - best for mine, best in scored) if scored else math.nan
    asked = f"with ensemble= at most {WITHIN_AUTOGLUON} mean AUROC behind AutoGluon at {last} s"
    said = f"{gap:+.4f} on {len(scored)} tables" if scored else ""
    whole = len(scored) == len(pairs) > 0
    yield Verdict(asked, said, gap >= -WITHIN_AUTOGLUON if whole else None)
