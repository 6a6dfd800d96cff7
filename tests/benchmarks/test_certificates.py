import pytest

from benchmarks.certificate_cells import NORMAL, ROWS, Normal
from benchmarks.certificates import bonferroni, main, simulate

CELLS = {cell.name: cell for cell in (*NORMAL, *ROWS)}
SMALL = [
    "1 constraint, all just outside, the folds flatter",
    "4 constraints, one just broken, the folds flatter",
    "rate, just outside",
    "gap of rates, just outside",
    "AUROC, just outside",
    "latency, just outside",
    "thresholds of one pipeline, the folds flatter by 3",
    "shares of 12 pipelines, 1.66 to 1.95 errors inside",
]


@pytest.mark.parametrize("name", SMALL)
def test_false_certificates_stay_within_the_risk(name):
    row = simulate(CELLS[name], 60)
    assert row.honest, str(row)


def test_a_rule_without_an_end_would_be_found_out():
    def all_that_pass(found):
        from fenceline.certificate.candidates import Rooms, options, typical_errors

        typical = typical_errors(found.problem, found.candidates)
        rooms = Rooms(found.problem, found.metrics, found.rows, 0.05, typical)
        inside = [o for c in found.candidates for o in options(c, rooms)]
        return [o for o in inside if found.passes(o, 0.05)]

    row = simulate(CELLS[SMALL[0]], 60, rule=all_that_pass)
    assert not row.honest


@pytest.mark.parametrize(
    ("place", "certified", "given_up"), [(0, 0.90, 2.1), (1, 0.80, 2.0), (2, 0.65, 2.5)]
)
def test_sequences_reach_what_no_division_of_the_risk_does(place, certified, given_up):
    cell, runs = NORMAL[place], 150
    found, before = simulate(cell, runs), simulate(cell, runs, rule=bonferroni)
    # Two standard deviations of a share from so many runs.
    assert found.certified / runs > certified - 0.08
    assert found.given_up < given_up + 0.15
    assert found.certified > before.certified
    assert found.given_up < before.given_up


def test_one_constraint_is_certified_as_often_as_any_test_can():
    row = simulate(Normal("one", 1, 1, (2.49, 2.49), pipelines=1), 2000)
    assert row.certified / row.runs > 0.78


def test_the_table_is_printed(capsys):
    main(["--runs", "1"])
    assert capsys.readouterr().out.count("|") > 4 * len(CELLS)
