"""What a table of one's own brings: few rows, rare classes, late groups, odd edges, a second fit."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    TimeSeriesSplit,
)

import fenceline as fl
from fenceline import FencelineClassifier, FencelineRegressor, metrics
from fenceline.certificate.holdout import set_aside
from fenceline.errors import DefinitionError, InfeasibleError
from fenceline.estimator.budget import Budget
from fenceline.estimator.learning_task import pose
from fenceline.estimator.second_table import joined
from fenceline.pipelines.threshold_curve import ThresholdCurve
from fenceline.problem.space import Algorithm, Module, Space

ROWS = 400
rng = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "a": rng.normal(size=ROWS),
        "b": rng.normal(size=ROWS),
        "day": 20200100.0 + np.arange(ROWS) % 30,
    }
)
Y = np.where(TABLE["a"] + 0.5 * rng.normal(size=ROWS) > 0, "yes", "no")
NOISE = rng.permutation(Y)
SPACE = Space([Module("estimator", [Algorithm("GaussianNB")])])
FOREST = Space([Module("estimator", [Algorithm("ExtraTrees")])])
FPR = [metrics.false_positive_rate() <= 0.6]


def classifier(*constraints, **settings):
    given = {"space": SPACE, "evaluations": 1, "cv": 2, "constraints": constraints} | settings
    return FencelineClassifier("balanced_accuracy", **given)


class TestNoRowsAreLeftToCertifyOn:
    @pytest.mark.parametrize(
        "bound",
        ["latency_us(batch=10) <= 1e6", "latency_us <= 1e6", "memory_mb <= 1e3", "size_mb <= 1e3"],
    )
    def test_what_a_pipeline_needs_is_read_all_the_same(self, bound):
        model = classifier(bound).fit(TABLE[:80], Y[:80])
        (check,) = model.certificate_.checks
        assert model.certificate_.status == "feasible"
        assert 0 < check.value < 1e6

    def test_so_is_the_direction_of_the_answer(self):
        space = Space([Module("estimator", [Algorithm("LogisticRegression")])])
        model = FencelineRegressor(
            evaluations=1,
            cv=2,
            monotone={"a": 1},
            space=Space([Module("estimator", [Algorithm("Ridge")])]),
        )
        assert model.fit(TABLE[:80], TABLE["a"][:80]).certificate_.status == "feasible"
        assert (
            classifier(monotone={"a": 1}, space=space).fit(TABLE[:80], Y[:80]).certificate_
            is not None
        )

    def test_votes_that_outgrow_a_bound_are_not_called_feasible(self):
        once = classifier("size_mb <= 1e3").fit(TABLE[:90], Y[:90])
        size = once.certificate_.checks[0].value
        votes = classifier(f"size_mb <= {1.5 * size}", fold_votes=True)
        with pytest.raises(InfeasibleError, match="size_mb"):
            votes.fit(TABLE[:90], Y[:90])

    def test_one_that_has_outgrown_its_bound_makes_room_for_the_next(self):
        space = Space([Module("estimator", [Algorithm("ExtraTrees"), Algorithm("GaussianNB")])])
        free = classifier("size_mb <= 1e3", space=space, evaluations=2).fit(TABLE[:90], Y[:90])
        grown = max(e.metrics["size_mb"] for e in free.result_.evaluations)  # as the folds have it
        model = classifier(f"size_mb <= {1.01 * grown}", space=space, evaluations=2)
        fitted = model.fit(TABLE[:90], Y[:90])
        assert fitted.best_configuration_["estimator"].algorithm == "GaussianNB"
        assert fitted.certificate_.status == "feasible"


class TestRowsThatAreKeptFromTheSearch:
    def test_a_second_table_is_not_learnt_from_without_a_fence_either(self):
        first, second = slice(0, 200), slice(200, ROWS)
        model = classifier(space=FOREST).fit(
            TABLE[first], NOISE[first], unseen=(TABLE[second], NOISE[second])
        )
        assert (model.data_["search_rows"], model.data_["unseen_rows"]) == (200, 200)
        assert model.score(TABLE[second], NOISE[second]) < 0.65  # it cannot know these labels
        assert model.inspection_["basis"] == "unseen"

    @pytest.mark.parametrize("unseen", [0.25, np.arange(300, ROWS)])
    def test_nor_are_rows_that_were_asked_for(self, unseen):
        assert classifier(unseen=unseen).fit(TABLE, Y).data_["unseen_rows"] == 100

    def test_a_rare_class_does_not_keep_others_from_a_certificate(self):
        labels = np.array(["no", "yes", "perhaps"])[np.arange(ROWS) % 3]
        labels[:4] = "never"
        model = classifier("balanced_accuracy >= 0.01", unseen=0.3).fit(TABLE, labels)
        assert model.data_["unseen_rows"] == pytest.approx(0.3 * ROWS, abs=2)
        assert "never" in model.classes_

    def test_two_classes_of_which_one_is_rare_say_why_nothing_was_kept(self):
        labels = np.where(np.arange(ROWS) < 3, "yes", "no")
        model = classifier("latency_us <= 1e6").fit(TABLE, labels)
        assert "too few of a class" in model.certificate_.reason

    def test_a_time_series_whose_gap_leaves_nothing_is_refused(self):
        splitter = TimeSeriesSplit(2, gap=300, test_size=20)
        with pytest.raises(DefinitionError, match="gap of 300 before them leaves none"):
            classifier(*FPR, cv=splitter, unseen=0.3).fit(TABLE, Y)

    def test_columns_of_a_second_table_may_stand_in_another_order(self):
        second = TABLE[200:][["day", "a", "b"]], Y[200:]
        model = classifier(*FPR).fit(TABLE[:200], pd.DataFrame({"y": Y[:200]}), unseen=second)
        plain = classifier(*FPR).fit(TABLE[:200], Y[:200], unseen=(TABLE[200:], Y[200:]))
        assert model.certificate_.checks == plain.certificate_.checks


class TestVotes:
    def test_a_report_without_unseen_rows_is_of_rows_that_the_fit_did_not_see(self):
        model = classifier(space=FOREST, fold_votes=True).fit(TABLE, NOISE)
        assert model.inspection_["basis"] == "fold"
        assert model.inspection_["scores"]["balanced_accuracy"] < 0.65

    def test_the_seconds_of_all_their_fits_are_left(self):
        model = classifier(seconds=60, evaluations=None, cv=3)
        task = pose(model, joined(TABLE, Y, None, None, None))
        budget, rows = Budget.begin(model), np.arange(ROWS)
        once = task.measure(rows, budget)
        votes = task.measure(rows, budget, votes=True)
        evaluation = task.problem(once).evaluation(
            SPACE.initial,
            fl.evaluation.Outcome("ok", seconds=6.0),
            dict.fromkeys(once.metrics, 0.5) | {"folds": 3.0},
        )
        assert votes.seconds_after(evaluation) == 6.0
        assert once.seconds_after(evaluation) == 3.0


class TestGroups:
    def test_edges_are_as_they_were_given(self):
        fence = metrics.demographic_parity_difference("day", bins=[20200115]) <= 0.9
        model = classifier(fence).fit(TABLE, Y)
        assert str(fence) == "demographic_parity_difference(day,bins=20200115) <= 0.9"
        (groups,) = model.data_["groups"].values()
        assert [group["label"] for group in groups] == ["< 20200115", ">= 20200115"]
        assert groups[0]["rows"] == pytest.approx(groups[1]["rows"], abs=4)

    def test_groups_that_edges_tell_apart_have_thresholds_of_their_own(self):
        fence = (
            metrics.demographic_parity_difference("day", bins=[20200107, 20200115, 20200122]) <= 0.9
        )
        with pytest.warns(UserWarning, match="unlawful"):
            model = classifier(fence, group_thresholds=True).fit(TABLE, Y)
        assert len(model.best_pipeline_.thresholds) == 4
        with pytest.raises(DefinitionError, match="an ONNX file has no groups"):
            model.to_onnx("model.onnx", TABLE)

    @pytest.mark.parametrize("by_group", [False, True])
    @pytest.mark.filterwarnings("ignore:group_thresholds")
    def test_one_that_is_only_among_unseen_rows_is_refused_by_name(self, by_group):
        region = np.array(["north", "south"])[np.arange(ROWS) % 2].astype(object)
        region[300:350] = "west"
        model = classifier(
            metrics.demographic_parity_difference("region") <= 0.9,
            unseen=np.arange(280, ROWS),
            group_thresholds=by_group,
        )
        with pytest.raises(DefinitionError, match="'west' of 'region' is only among"):
            model.fit(TABLE, Y, groups={"region": region})

    def test_those_that_stay_together_may_not_be_missing(self):
        patient = (np.arange(ROWS) // 8).astype(float)
        patient[3] = np.nan
        with pytest.raises(DefinitionError, match="cv_group='patient' is missing in 1 rows"):
            classifier(cv=GroupKFold(2), cv_group="patient").fit(
                TABLE, Y, groups={"patient": patient}
            )

    def test_any_data_frame_may_hold_them(self):
        class Frame:
            """As that of polars: it is no DataFrame, but knows how to become one."""

            def to_pandas(self):
                return pd.DataFrame({"g": np.arange(ROWS) % 2})

        model = classifier(metrics.demographic_parity_difference("g") <= 0.9)
        assert model.fit(TABLE, Y, groups=Frame()).certificate_.rows
        assert model.fit(TABLE, Y, groups=Frame(), unseen=(TABLE, Y, Frame())).certificate_.rows


class TestFolds:
    @pytest.mark.parametrize("weights", [None, np.where(np.arange(ROWS) % 10, 1.0, 0.0)])
    def test_those_that_were_set_before_hold_beside_a_certificate(self, weights, tmp_path):
        model = classifier(*FPR, cv=PredefinedSplit(np.arange(ROWS) % 3))
        model.fit(TABLE, Y, sample_weight=weights).save(tmp_path / "model.skops")
        assert model.result_.best.metrics["folds"] == 3
        assert isinstance(fl.load(tmp_path / "model.skops").cv, PredefinedSplit)

    def test_they_are_those_of_the_first_table_where_there_are_two(self):
        model = classifier(*FPR, cv=PredefinedSplit(np.arange(300) % 3))
        model.fit(TABLE[:300], Y[:300], unseen=(TABLE[300:], Y[300:]))
        assert (model.data_["search_rows"], model.data_["unseen_rows"]) == (300, 100)

    def test_they_keep_no_groups_together(self):
        model = classifier(cv=PredefinedSplit(np.arange(ROWS) % 3), cv_group="g")
        with pytest.raises(DefinitionError, match="use GroupKFold"):
            model.fit(TABLE, Y, groups={"g": np.arange(ROWS) // 8})

    def test_they_are_of_this_table(self):
        with pytest.raises(DefinitionError, match="has 30 rows, and the table 400"):
            classifier(cv=PredefinedSplit(np.arange(30) % 3)).fit(TABLE, Y)

    def test_a_splitter_that_names_rows_which_are_not_there_is_refused(self):
        class Far:
            def split(self, X, y, groups=None):
                yield np.arange(100), np.arange(350, ROWS)

        with pytest.raises(DefinitionError, match="names row 399, and there are"):
            classifier(*FPR, cv=Far(), unseen=0.3).fit(TABLE, Y)

    def test_models_of_other_splitters_are_saved_and_loaded(self, tmp_path):
        model = classifier(cv=LeaveOneGroupOut(), cv_group="g")
        model.fit(TABLE, Y, groups={"g": np.arange(ROWS) % 3}).save(tmp_path / "model.skops")
        assert fl.load(tmp_path / "model.skops").predict(TABLE).shape == (ROWS,)

    def test_whole_numbers_of_numpy_are_whole_numbers(self):
        model = classifier(cv=np.int64(3), ensemble=np.int64(2), evaluations=np.int64(2))
        assert model.fit(TABLE, Y).result_.best.metrics["folds"] == 3


def test_nothing_of_an_earlier_fit_is_left_when_one_finds_nothing():
    model = classifier(*FPR).fit(TABLE, Y)
    model.set_params(constraints=["false_negative_rate <= 0.01", "false_positive_rate <= 0.01"])
    with pytest.raises(InfeasibleError):
        model.fit(TABLE, Y)
    assert model.result_.status == "infeasible"
    assert not hasattr(model, "certificate_")
    assert not hasattr(model, "best_pipeline_")


@pytest.mark.parametrize("rows", [1, 300])
def test_a_text_among_numbers_is_told_by_its_column(rows):
    model = classifier().fit(TABLE, Y)
    wrong = TABLE[:rows].astype({"b": object})
    wrong.iloc[0, 1] = "dear"
    with pytest.raises(DefinitionError, match=r"'b' held numbers .* holds 'dear' now"):
        model.predict(wrong)


def test_labels_of_several_types_are_refused():
    with pytest.raises(DefinitionError, match="such as 'no' and 1; make them all texts"):
        classifier().fit(TABLE, pd.Series(["no", 1] * 200))


class TestTheThresholdOfTheModel:
    """It is where the model chooses the share of rows that the folds chose, not where their scores were cut."""

    @staticmethod
    def shares(model, table):
        curve = ThresholdCurve.of(model.result_.best.details)
        by_folds = np.interp(
            model.result_.best.metrics["threshold"], curve.log_odds, curve.selected
        )
        return by_folds, np.mean(model.predict(table) == "yes")

    @pytest.fixture
    def forest(self):
        # A forest of trees that are grown to the end: its scores on unseen rows depend on how many rows it had.
        return Space([Module("estimator", [Algorithm("RandomForest")])])

    def test_of_rows_drawn_from_the_same_ones(self, forest):
        model = classifier(*FPR, space=forest, unseen=0.4, prefer="objective").fit(TABLE, Y)
        unseen = TABLE.iloc[model_rows(model)]
        by_folds, chosen = self.shares(model, unseen)
        assert chosen == pytest.approx(by_folds, abs=2 / len(unseen))
        assert model.best_metrics_["threshold"] == pytest.approx(
            logit(model.best_pipeline_[-1].threshold)
        )
        assert model.finalists_[0].threshold == model.best_metrics_["threshold"]

    def test_of_other_rows_it_stays_where_it_was(self, forest):
        later = np.arange(240, ROWS)
        model = classifier(*FPR, space=forest, unseen=later, prefer="objective").fit(TABLE, Y)
        assert model.best_metrics_["threshold"] == pytest.approx(
            model.result_.best.metrics["threshold"]
        )


def model_rows(model):
    """Return the rows that a model of the whole table was certified on."""
    task = pose(model, joined(TABLE, Y, None, None, None))
    return set_aside(
        task.table, task.metrics, task.constraints, task.folds, task.seed, task.unseen
    ).unseen
