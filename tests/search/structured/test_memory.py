"""What a long search keeps in memory."""

import gc
import os
from pathlib import Path

import pytest

import fenceline as fl
from fenceline.problems import artificial
from fenceline.search.structured.module_ascent import Search
from fenceline.search.surrogates import metric_model


class Anything(Search):
    """Find nothing, so that pipelines are drawn at random: what is kept is the same, in a fraction of the time."""

    def __call__(self, *_, **__):
        return []


STATM = Path("/proc/self/statm")


def resident_megabytes():
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(not STATM.exists(), reason="resident memory is read from /proc")
def test_two_thousand_evaluations_stay_small(monkeypatch):
    """Iterates that kept views of tables held 750 MB here: quadratic in the evaluations."""
    # Hyper-parameters may be poor: learning them takes half the time, and none of the memory.
    monkeypatch.setattr(metric_model, "_MOST_FITTED", 20)
    quick = fl.StructuredBO(search=Anything(), transform=False)
    fl.minimize(artificial(0), evaluations=60, algorithm=quick)  # what is imported only now
    before = resident_megabytes()
    result = fl.minimize(artificial(0), evaluations=2000, algorithm=quick)
    assert len(result.evaluations) == 2000
    assert resident_megabytes() - before < 100
