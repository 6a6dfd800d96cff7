"""How much memory a search of 10,000 evaluations takes.

Run ``make bench-long-run``. It minimises an artificial problem with the default
algorithm and prints the resident memory after every 1,000 evaluations. What is kept is what the
default keeps: every evaluation and iterate, and the models with all that they know. Only the climb
of the acquisition is cut short (one start, one sweep over the modules), because a full one takes
most of the time and none of the memory; ``--full`` runs that, too. The exit status is 1 when the peak is above the
target.
"""

import argparse
import resource
import sys
import time

import fenceline as fl
from fenceline.evaluation.evaluator import Progress
from fenceline.problems import artificial
from fenceline.search.structured.module_ascent import Search

TARGET_MB = 500.0
_SHORT = Search(starts=1, elites=2, random=1, local=2, sweeps=1)
_EVERY = 1000


def peak_megabytes() -> float:
    """Return the largest resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def run(evaluations: int, *, full: bool, every: int = _EVERY) -> float:
    """Search, print how memory grows, and return its peak."""
    started = time.perf_counter()

    def say(progress: Progress) -> None:
        if progress.count % every == 0:
            seconds = time.perf_counter() - started
            print(f"{progress.count:>6,} {peak_megabytes():>6.0f} MB {seconds:>7.0f} s", flush=True)

    algorithm = fl.StructuredBO() if full else fl.StructuredBO(search=_SHORT)
    fl.minimize(artificial(0), evaluations=evaluations, algorithm=algorithm, callbacks=[say])
    return peak_megabytes()


def main(arguments: list[str] | None = None) -> int:
    """Run as a command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--evaluations", type=int, default=10_000)
    parser.add_argument("--full", action="store_true", help="climb the acquisition in full")
    chosen = parser.parse_args(arguments)
    peak = run(chosen.evaluations, full=chosen.full)
    print(f"peak {peak:.0f} MB, target {TARGET_MB:.0f} MB")
    return 0 if peak <= TARGET_MB else 1


if __name__ == "__main__":
    sys.exit(main())
