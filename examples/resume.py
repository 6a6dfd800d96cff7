"""
Resume and extend a run
=======================

A run directory holds every proposal and every outcome, written down as it happens. The same call
continues a run that was killed, and a larger budget extends one that ended: nothing that finished is
measured again, and with one worker the run ends exactly as an uninterrupted one would have.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import fenceline as fl
from fenceline import plots
from fenceline.problems import artificial
from fenceline.store import read_run

paper = artificial(seed=0, constraints=1, feasible_fraction=0.3)
calls = []


def measure(configuration):
    """Stand in for an hour of training, and keep count of the hours."""
    calls.append(configuration)
    return paper.measure(configuration)


problem = fl.Problem(paper.space, measure, paper.objective, paper.constraints)
print(f"{problem.space.size} pipelines, {problem.constraints[0]}")

# %%
# A run that is interrupted
# -------------------------
# Ctrl-C would do the same as this callback: the run ends, tidies up, and returns the best so far.


def interrupt(progress):
    """Press Ctrl-C after the twelfth evaluation."""
    if progress.count == 12:
        raise KeyboardInterrupt


directory = Path(tempfile.mkdtemp()) / "run"
first = fl.minimize(problem, evaluations=30, seed=0, run_dir=directory, callbacks=[interrupt])
print(f"ended: {first.ended}, {len(first.evaluations)} evaluations, {len(calls)} measurements")
print("on the disk:", ", ".join(sorted(path.name for path in directory.iterdir())))

# %%
# The same call continues it
# --------------------------

second = fl.minimize(problem, evaluations=30, seed=0, run_dir=directory)
print(f"ended: {second.ended}, {len(second.evaluations)} evaluations, {len(calls)} measurements")

# %%
# Thirty measurements in all: none was repeated. Had nothing happened, the run would have ended the
# same, evaluation by evaluation:

undisturbed = fl.minimize(problem, evaluations=30, seed=0)
same = [e.configuration for e in undisturbed.evaluations] == [
    e.configuration for e in second.evaluations
]
print("same proposals as without the interruption:", same)

# %%
# A larger budget extends it
# --------------------------
# The directory can also be read by itself, by another process, while the run goes on.

before = len(calls)
third = fl.minimize(problem, evaluations=50, seed=0, run_dir=directory)
print(f"{len(third.evaluations)} evaluations, {len(calls) - before} of them new")
meta, events = read_run(directory)
print(f"the journal has {len(events)} events of a search with the objective {meta['objective']!r}")

# %%
# Another problem, algorithm or seed is refused, not mixed in:

try:
    fl.minimize(problem, evaluations=50, seed=1, run_dir=directory)
except fl.errors.RunMismatchError as refusal:
    print(str(refusal).replace(str(directory), "DIRECTORY"))

# %%
# The three stages of one and the same search:

_, ax = plt.subplots(layout="constrained")
plots.best_so_far(third, ax)
for stage, count in {"interrupted": len(first.evaluations), "resumed to 30": 30}.items():
    ax.axvline(count, color="grey", linestyle=":")
    ax.annotate(
        stage, (count, 0.9), xycoords=("data", "axes fraction"), rotation=90, ha="right", va="top"
    )
ax.set(title="Interrupted, resumed, extended", yscale="log")
