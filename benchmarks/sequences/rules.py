"""Rules that say which options are tested at which risk, and what they lead to on replayed searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np

from benchmarks.sequences.replay import Replay
from fenceline.certificate.sequence import Option, fixed_sequence, walk
from fenceline.pipelines.ensemble import Members


class Test(Protocol):
    """Whether an option passes a test at a risk."""

    def __call__(self, option: Option, risk: float) -> bool:
        """Test it."""


Rule: TypeAlias = Callable[[Sequence[Option], Test], list[Option]]
"""Returns what passed."""


def attempts(risks: Sequence[float], options: Sequence[Option], test: Test) -> list[Option]:
    """Walk a fixed sequence at each of several risks, each without the pipelines that failed before."""
    passed: list[Option] = []
    failed: set[Members] = set()
    for risk in risks:
        line = fixed_sequence([option for option in options if option.pipeline not in failed])
        found = walk(line, partial(test, risk=risk))
        passed += found
        if len(found) == len(line):
            break
        failed.add(line[len(found)].pipeline)
    return passed


RULES: Mapping[str, Rule] = {
    "one sequence": partial(attempts, (0.05,)),
    "two, at half the risk": partial(attempts, (0.025,) * 2),
    "three, at a third": partial(attempts, (0.0167,) * 3),
    "five, at a fifth": partial(attempts, (0.01,) * 5),
    "five, at the full risk (not honest)": partial(attempts, (0.05,) * 5),
}


@dataclass(frozen=True)
class Outcome:
    """Of one rule on some searches: shares of the draws."""

    certified: float
    gain: float
    """The true gain of what is delivered over a dummy, as a share of the best that is truly inside; 0 without a certificate."""
    outside: float
    """Certified, and truly outside."""


def outcome(rule: Rule, replays: Sequence[Replay]) -> Outcome:
    """Return what a rule leads to: the mean over searches, of the mean over their draws."""
    found = [
        np.mean([_of_draw(rule, one, draw) for draw in range(len(one.risks))], axis=0)
        for one in replays
    ]
    return Outcome(*np.mean(found, axis=0).tolist())


def _of_draw(rule: Rule, replay: Replay, draw: int) -> tuple[float, float, float]:
    places = {id(option): at for at, option in enumerate(replay.options)}

    def test(option: Option, risk: float) -> bool:
        return bool(replay.risks[draw, places[id(option)]] <= risk)

    passed = rule(replay.options, test)
    if not passed:
        return 0.0, 0.0, 0.0
    at = places[id(min(passed, key=lambda o: o.worth))]
    losses, inside = replay.losses[draw], replay.rooms[draw] >= 0
    best = float(np.min(losses[inside] if inside.any() else losses))
    dummy = float(np.median([o.gain + (o.merit or o.objective) for o in replay.options]))
    if replay.options[0].merit:
        dummy = 0.5
    gain = (dummy - losses[at]) / max(1e-9, dummy - best)
    return 1.0, float(np.clip(gain, -1.0, 1.0)), float(not inside[at])
