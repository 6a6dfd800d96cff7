"""Replays orders of tests on real searches: ``python -m benchmarks.sequences --searches 60``.

A search that has been drawn is kept in a directory, so that a rule can be tried in seconds.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Sequence
from pathlib import Path

from benchmarks.catalogue import DATA
from benchmarks.pages import markdown
from benchmarks.sequences.cases import KINDS, draw
from benchmarks.sequences.replay import Replay, replay
from benchmarks.sequences.rules import RULES, outcome


def kept(seed: int, data: Path, out: Path, seconds: float) -> Replay | None:
    """Return the search of a seed, from its file if it has been drawn."""
    path = out / f"{seed}.pickle"
    if path.exists():
        found: Replay | None = pickle.loads(path.read_bytes())
        return found
    case = draw(seed, data)
    found = None if case is None else replay(case, seconds)
    path.write_bytes(pickle.dumps(found))
    print(case.name if case and found else f"{seed}: nothing to test", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw what is missing, and print what every rule leads to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sequences", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="directory of the tables")
    parser.add_argument("--out", type=Path, default=Path("out/sequences"))
    parser.add_argument("--searches", type=int, default=60, help="two minutes each on one core")
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--seconds", type=float, default=25.0, help="of a search")
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    seeds = range(chosen.first, chosen.first + chosen.searches)
    found = [
        one
        for seed in seeds
        if (one := kept(seed, chosen.data, chosen.out, chosen.seconds)) is not None
    ]
    kinds = [kind for kind in dict.fromkeys(KINDS) if any(one.kind == kind for one in found)]
    rows = []
    for name, rule in RULES.items():
        of_all = outcome(rule, found)
        each = [outcome(rule, [one for one in found if one.kind == kind]) for kind in kinds]
        numbers = (of_all.certified, of_all.gain, of_all.outside, *(one.certified for one in each))
        rows.append([name, *(f"{number:.3f}" for number in numbers)])
    header = [
        "rule",
        "certified",
        "gain",
        "truly outside",
        *(f"{kind}, certified" for kind in kinds),
    ]
    print(f"\n{len(found)} searches:\n\n{markdown(header, rows)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
