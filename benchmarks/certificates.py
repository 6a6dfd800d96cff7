"""How often certificates are wrong, and how often they are given: simulated searches, real selection and tests.

Each cell draws candidates whose true values are known, measures them as a search would, and lets
Fenceline's own code choose, order and test them on unseen rows. ``python -m benchmarks.certificates``
prints the table.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.certificate_cells import CONFIDENCE, NORMAL, ROWS, Cell, Found
from fenceline.certificate.bounds import risk_of_each
from fenceline.certificate.candidates import Rooms, options, typical_errors
from fenceline.certificate.sequence import Option, fixed_sequence, walk

NORMAL_TIMES = 4
"""Normal errors are drawn this many times as often: they take next to no time."""
DEVIATIONS = 3.0
"""Standard deviations of a count that are put down to chance."""


@dataclass(frozen=True)
class Row:
    """What became of one cell."""

    name: str
    runs: int
    certified: int
    false: int
    given_up: float
    """Mean true room of what was delivered, in standard errors of the hold-out."""

    @property
    def honest(self) -> bool:
        """Whether false certificates stay within the risk and the error of the simulation."""
        risk = 1 - CONFIDENCE
        return self.false <= risk * self.runs + DEVIATIONS * math.sqrt(
            self.runs * risk * (1 - risk)
        )

    def __str__(self) -> str:
        share, wrong = 100 * self.certified / self.runs, 100 * self.false / self.runs
        verdict = "" if self.honest else " TOO MANY"
        return f"| {self.name} | {share:.1f} % | {wrong:.1f} %{verdict} | {self.given_up:.2f} |"


def fixed_order(found: Found) -> list[Option]:
    """Return what passes the fixed sequence, each constraint at the full risk."""
    inside = _inside(found, 1 - CONFIDENCE)[1]
    return walk(fixed_sequence(inside), lambda o: found.passes(o, 1 - CONFIDENCE))


def bonferroni(found: Found, candidates: int = 3) -> list[Option]:
    """Return what passes when the risk is divided by constraints and candidates.

    The best, then the best with as much room as a bound is likely to reach, and half as much again.
    """
    risk = risk_of_each(CONFIDENCE, len(found.problem.constraints) * candidates)
    rooms, inside = _inside(found, risk)
    left = sorted((o for o in inside if o.room >= 0), key=lambda o: o.objective)
    line: list[Option] = left[:1]
    for share in (1.0, 1.5):
        others = [o for o in left if o not in line]
        some = share if share > 1 or any(o.room >= rooms.reach for o in others) else 0.5
        enough = [o for o in others if o.room >= some * rooms.reach]
        line += (enough or sorted(others, key=lambda o: -o.room))[:1]
    return [option for option in line if found.passes(option, risk)][:1]


def simulate(
    cell: Cell, runs: int, seed: int = 0, rule: Callable[[Found], list[Option]] = fixed_order
) -> Row:
    """Return what becomes of many searches of one cell."""
    rng = np.random.default_rng(seed)
    certified = false = 0
    given_up = []
    for _ in range(runs):
        found = cell.draw(rng)
        passed = rule(found)
        false += any(found.true_room(option) < 0 for option in passed)
        if passed:
            certified += 1
            best = min(passed, key=lambda o: o.worth)
            given_up.append(found.true_room(best))
    return Row(cell.name, runs, certified, false, float(np.mean(given_up or [math.nan])))


def _inside(found: Found, risk: float) -> tuple[Rooms, list[Option]]:
    typical = typical_errors(found.problem, found.candidates)
    rooms = Rooms(
        found.problem, found.metrics, found.rows, risk, typical, controlled=found.controlled
    )
    return rooms, [option for c in found.candidates for option in options(c, rooms)]


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500, help="of cells drawn row by row")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(given)
    started = time.monotonic()
    head = "| cell | certified | false | standard errors given up |\n|---|---|---|---|"
    many = NORMAL_TIMES * chosen.runs
    print(f"{many} searches a cell with normal errors, seed {chosen.seed}:\n\n{head}")
    for cell in NORMAL:
        print(simulate(cell, many, chosen.seed), flush=True)
    print(f"\n{chosen.runs} searches a cell, drawn row by row:\n\n{head}")
    for cell in ROWS:
        print(simulate(cell, chosen.runs, chosen.seed), flush=True)
    print(f"\nThree candidates, Bonferroni's correction:\n\n{head}")
    for cell in NORMAL[:3]:
        print(simulate(cell, many, chosen.seed, bonferroni), flush=True)
    print(f"\n{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
