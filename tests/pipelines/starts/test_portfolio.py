"""What is learnt is known to the estimator by a file; here a small one stands in for it."""

import json
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from fenceline.metrics import latency_us, size_mb
from fenceline.pipelines import drop, named_space, only, restrict
from fenceline.pipelines.spaces.operators import EXTRAS
from fenceline.pipelines.starts import portfolio as module
from fenceline.pipelines.starts.learnt import from_dict, learnt
from fenceline.pipelines.starts.portfolio import greedy, leaving_out, portfolio, starts
from fenceline.problem.parameter import Categorical, Integer, Real
from fenceline.problem.space import Algorithm, Module, Space

TASKS = ("binary", "multiclass", "regression")
DEFAULT = named_space("default")
OTHERS = [a.name for a in DEFAULT.modules[-1].algorithms if a.name in EXTRAS]
# The same whatever is installed.
SPACE = drop(DEFAULT, "estimator", *OTHERS) if OTHERS else DEFAULT


def start(name: str, **changes) -> list:
    algorithm = next(a for a in SPACE.modules[-1].algorithms if a.name == name)
    return [name, {**algorithm.start, **changes}]


def entry(model: list, regret: list[int], scaler="none", encoder="ordinal", **costs) -> dict:
    choices = {"encoder": [encoder, {}], "scaler": [scaler, {}], "selector": ["none", {}]}
    usual = {"seconds": 0.1, "latency_us": 5.0, "single_us": 500.0, "size_mb": 0.1}
    return {"choices": choices | {"estimator": model}, **usual, **costs, "regret": regret}


FILE = {
    "tables": ["meta/a", "meta/b", "fairness/c"],
    "rows": [2000, 2000, 2000],
    "growth": {"ExtraTrees": {"seconds": 1.0, "size_mb": 1.0}},
    "pipelines": [
        entry(start("LogisticRegression"), [900, 500, 0], "StandardScaler", "onehot"),
        entry(start("HistGradientBoosting"), [300, 200, 300]),
        entry(start("HistGradientBoosting"), [350, 250, 300], encoder="onehot"),
        entry(start("HistGradientBoosting", max_iter=20), [400, 400, 400], latency_us=1.0),
        entry(start("ExtraTrees"), [300, 0, 300], latency_us=80.0, single_us=9e3, size_mb=20.0),
        entry(start("KNeighbors"), [150, 600, 600], latency_us=300.0),
    ],
}


@pytest.fixture
def _small(monkeypatch):
    known = from_dict(FILE)
    monkeypatch.setattr(module, "learnt", lambda task: known)
    monkeypatch.setattr(module, "_FEWEST", 2)


def models(found) -> list[str]:
    return [f"{c['estimator'].algorithm}{c['estimator'].params.get('max_iter', '')}" for c in found]


@pytest.mark.usefixtures("_small")
class TestAPortfolio:
    def test_begins_with_the_booster_at_its_start_and_then_goes_by_what_each_adds(self):
        order = ["HistGradientBoosting300", "ExtraTrees", "KNeighbors", "HistGradientBoosting20"]
        assert models(portfolio(SPACE, "binary")) == order

    def test_begins_with_the_booster_that_was_best_on_as_many_rows_for_the_time_that_it_takes(
        self, monkeypatch
    ):
        pipelines = [
            *FILE["pipelines"],
            entry(start("HistGradientBoosting", max_iter=400), [100, 400, 400], seconds=0.2),
            # Better by .02, and 8 times as slow.
            entry(start("HistGradientBoosting", max_iter=900), [80, 180, 280], seconds=1.6),
        ]
        file = {**FILE, "rows": [20_000, 2_000, 2_000], "pipelines": pipelines}
        monkeypatch.setattr(module, "learnt", lambda task: from_dict(file))
        assert models(portfolio(SPACE, "binary", rows=20_000))[0] == "HistGradientBoosting400"
        assert models(portfolio(SPACE, "binary", rows=2_000))[0] == "HistGradientBoosting300"

    def test_begins_with_a_booster_of_another_library_where_that_was_better_for_the_time(
        self, monkeypatch
    ):
        trees = {"n_estimators": Integer(10, 500)}
        other = Algorithm("LightGBM", trees, start={"n_estimators": 100})
        last = SPACE.modules[-1]
        space = Space([*SPACE.modules[:-1], Module(last.name, [*last.algorithms, other])])

        def first(**costs):
            learnt_too = entry(["LightGBM", other.start], [250, 150, 250], **costs)
            file = {**FILE, "pipelines": [*FILE["pipelines"], learnt_too]}
            monkeypatch.setattr(module, "learnt", lambda task: from_dict(file))
            return portfolio(space, "binary")[0]["estimator"].algorithm

        assert first(seconds=0.3) == "LightGBM"
        assert first(seconds=5.0) == "HistGradientBoosting"

    def test_begins_with_one_that_stops_by_itself_where_rows_are_far_more_than_were_learnt_from(
        self, monkeypatch
    ):
        fixed = entry(start("HistGradientBoosting", max_iter=200, early_stopping=False), [0, 0, 0])
        file = {**FILE, "pipelines": [*FILE["pipelines"], fixed]}
        monkeypatch.setattr(module, "learnt", lambda task: from_dict(file))
        assert models(portfolio(SPACE, "binary", rows=5_000))[0] == "HistGradientBoosting200"
        assert models(portfolio(SPACE, "binary", rows=7_000))[0] == "HistGradientBoosting300"

    def test_is_another_when_a_table_is_left_out(self):
        assert models(portfolio(SPACE, "binary", ["meta/b"]))[1] == "KNeighbors"
        assert models(portfolio(SPACE, "binary", ["b"]))[1] == "KNeighbors"
        with leaving_out("b"):
            assert models(portfolio(SPACE, "binary"))[1] == "KNeighbors"
        assert models(portfolio(SPACE, "binary"))[1] == "ExtraTrees"

    def test_holds_only_what_the_space_has(self):
        assert "KNeighbors" not in models(
            portfolio(drop(SPACE, "estimator", "KNeighbors"), "binary")
        )
        narrow = restrict(SPACE, "estimator", "HistGradientBoosting", max_iter=Integer(10, 50))
        assert "HistGradientBoosting300" not in models(portfolio(narrow, "binary"))
        assert "HistGradientBoosting20" in models(portfolio(narrow, "binary"))
        scaled = only(SPACE, "scaler", "StandardScaler")
        assert portfolio(scaled, "binary") == []

    def test_encodes_as_was_learnt_where_there_are_categories(self):
        encoder = Module("encoder", [Algorithm(n) for n in ("onehot", "ordinal", "target")])
        found = portfolio(Space([encoder, *SPACE.modules]), "binary")
        assert [c["encoder"].algorithm for c in found if "300" in models([c])[0]] == [
            "ordinal",
            "onehot",
        ]

    def test_leaves_modules_that_were_not_learnt_at_their_first_algorithm(self):
        threshold = Module("threshold", [Algorithm("Threshold", {"log_odds": Real(-5, 5)})])
        found = portfolio(Space([*SPACE.modules, threshold]), "binary")
        assert {c["threshold"].params["log_odds"] for c in found} == {0.0}
        assert len(found) == 4

    @pytest.mark.parametrize("bound", [latency_us(1000) <= 2.0, latency_us() <= 400.0])
    def test_puts_what_is_likely_inside_the_fence_first(self, bound):
        before = portfolio(SPACE, "binary")
        within = portfolio(SPACE, "binary", constraints=[bound])
        assert set(before) == set(within)
        assert models(within).index("ExtraTrees") > models(before).index("ExtraTrees")

    def test_expects_forests_to_grow_with_the_rows(self):
        small, bound = portfolio(SPACE, "binary"), [size_mb() <= 100.0]
        assert models(portfolio(SPACE, "binary", constraints=bound)) == models(small)
        late = portfolio(SPACE, "binary", constraints=bound, rows=20_000)
        assert models(late).index("ExtraTrees") > models(small).index("ExtraTrees")

    def test_repeats_the_first_boosters_where_groups_can_be_weighed(self):
        weighing = Algorithm("Reweighing", {"strength": Real(0, 2)})
        space = Space([Module("emphasis", [Algorithm("none"), weighing]), *SPACE.modules])
        found = portfolio(space, "binary")
        weights = [c["emphasis"].algorithm for c in found[:5]]
        assert weights == ["Reweighing", "Reweighing", "none", "Reweighing", "none"]
        strengths = [found[i]["emphasis"].params["strength"] for i in (0, 1, 3)]
        assert strengths == pytest.approx([1.0, 1.5, 0.5])
        assert {models([c])[0] for c in found[:4]} == {"HistGradientBoosting300"}


@pytest.mark.usefixtures("_small")
class TestStarts:
    def test_of_algorithms_that_were_not_learnt_come_second(self):
        svc = Algorithm("sklearn.svm.LinearSVC", {"C": Real(0.01, 10)}, start={"C": 1.0})
        last = SPACE.modules[-1]
        space = Space([*SPACE.modules[:-1], Module(last.name, [*last.algorithms, svc])])
        found = starts(space, "binary", 2000)
        assert models(found)[0] == "HistGradientBoosting300"
        assert "sklearn.svm.LinearSVC" in models(found)[1:6]
        assert "sklearn.svm.LinearSVC" not in models(starts(SPACE, "binary", 2000))

    def test_of_a_space_that_admits_too_little_are_its_own(self, monkeypatch):
        monkeypatch.setattr(module, "_FEWEST", 8)
        own = Algorithm("RandomForest", {"criterion": Categorical(["gini"])}, start={})
        found = starts(Space([Module("model", [Algorithm("GaussianNB"), own])]), "binary", 2000)
        assert [c["model"].algorithm for c in found] == ["RandomForest"]


class TestGreedy:
    def test_takes_first_what_lowers_the_mean_regret_most(self):
        regret = np.array([[0.5, 0.5], [0.0, 0.8], [0.9, 0.0]])
        equal = np.full(2, 0.5)
        assert greedy(regret, np.ones(3), np.ones(3), np.ones(2), equal, (), 3) == [1, 2, 0]

    def test_counts_what_a_second_brings(self):
        regret = np.array([[0.0], [0.4]])
        assert greedy(regret, np.ones(2), np.array([9.0, 1.0]), np.ones(1), np.ones(1), (), 2) == [
            1,
            0,
        ]

    def test_does_not_rely_on_what_is_hardly_inside_the_fence(self):
        regret = np.array([[0.0, 0.9], [0.3, 0.9], [0.9, 0.6]])
        order = greedy(regret, np.array([0.1, 1, 1]), np.ones(3), np.ones(2), np.ones(2), [0], 3)
        assert order == [0, 1, 2]

    def test_counts_only_what_is_still_missing(self):
        regret = np.array([[0.0, 1.0], [0.1, 1.0], [1.0, 0.6]])
        assert greedy(regret, np.ones(3), np.ones(3), np.ones(2), np.full(2, 0.5), (), 2) == [0, 2]


@pytest.mark.parametrize("task", TASKS)
class TestWhatIsOnFile:
    def test_is_admitted_by_the_default_space(self, task):
        found = portfolio(named_space("default", task), task)
        assert 16 <= len(found) <= 32
        assert len(set(found)) == len(found)

    @pytest.mark.parametrize("rows", [2_000, 20_000])
    def test_begins_with_a_booster_that_was_as_good_as_the_usual_one_for_its_time(self, task, rows):
        space, known = named_space("default", task), learnt(task)
        first = portfolio(space, task, rows=rows)[0]
        assert first["estimator"].algorithm in module._BOOSTERS
        numbers = module._admitted(space, known)
        start = next(
            a.start for a in space.modules[-1].algorithms if a.name == "HistGradientBoosting"
        )
        plain = {"scaler": ("none", {}), "selector": ("none", {})}
        usual = space.configuration({**plain, "estimator": ("HistGradientBoosting", start)})
        usual = space.decode(*space.encode(usual))
        near = known.weights(rows) ** module._NEAR
        expected = known.regret @ (near / near.sum())
        costs = [known.pipelines[numbers[c]].at("seconds", rows) for c in (first, usual)]
        dearer = module._DEARER * np.log2(costs[0] / costs[1])
        assert expected[numbers[first]] <= expected[numbers[usual]] - dearer

    def test_is_small(self, task):
        assert len(files(module.__package__).joinpath(f"{task}.json").read_bytes()) < 45_000

    def test_is_of_tables_that_benchmarks_may_leave_out(self, task):
        known = learnt(task)
        assert all(name.count("/") == 1 for name in known.tables)
        assert not {"paper8", "credit"} & {name.partition("/")[0] for name in known.tables}
        assert known.regret.shape == (len(known.pipelines), len(known.tables))
        assert ((known.regret >= 0) & (known.regret <= 1)).all()
        kept = known.without([known.tables[0]])
        assert known.tables[0] not in kept.tables
        assert kept.weights(2000).sum() == pytest.approx(1.0)

    def test_counts_large_tables_more_for_a_large_one(self, task):
        known = replace(learnt(task), tables=("a", "b"), rows=(2000, 8000), regret=np.zeros((1, 2)))
        assert known.weights(20_000)[1] > 0.7
        assert known.weights(1000)[0] > 0.6


def test_what_is_on_file_can_be_read_line_by_line():
    text = files(module.__package__).joinpath("binary.json").read_text()
    lines = [line for line in text.splitlines() if line.startswith('{"choices"')]
    assert len(lines) == len(learnt("binary").pipelines)
    assert json.loads(lines[0].rstrip(","))["choices"]["estimator"]
