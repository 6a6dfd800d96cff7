import pytest

from fenceline import (
    Algorithm,
    Categorical,
    Integer,
    Module,
    Problem,
    Real,
    Space,
    forbid,
    minimize,
)
from fenceline.errors import DefinitionError, RunMismatchError, SpaceError
from fenceline.problem.starts import space_starts

KNN = {"k": Integer(1, 100, log=True), "p": Categorical([1, 2])}


def space(**starts) -> Space:
    return Space(
        [
            Module(
                "scaler",
                [
                    Algorithm("robust", {"q": Real(0.001, 0.3)}, start={"q": 0.25}),
                    Algorithm("none"),
                ],
            ),
            Module(
                "model",
                [
                    Algorithm("logit", {"C": Real(1e-3, 1e3, log=True)}, start=starts.get("logit")),
                    Algorithm("knn", KNN, start=starts.get("knn")),
                    Algorithm("bayes", start=starts.get("bayes")),
                ],
            ),
        ]
    )


def measure(configuration) -> dict[str, float]:
    return {"loss": float(len(str(configuration)))}


def measured(problem, n, **kwargs):
    return [e.configuration for e in minimize(problem, evaluations=n, seed=1, **kwargs).evaluations]


class TestAnAlgorithm:
    @pytest.mark.parametrize(
        ("start", "message"),
        [
            ({"kk": 5}, "start names 'kk'.*Did you mean 'k'"),
            ({"k": 0}, r"start 'k' must lie in \[1, 100\]. Got 0"),
            ({"k": 2.5}, "start 'k' must be a whole number"),
            ({"p": 3}, "start 'p'"),
            ([5], r"start must map hyper-parameters to values. Got \[5\]"),
        ],
    )
    def test_refuses_a_start_that_it_could_not_take(self, start, message):
        with pytest.raises(SpaceError, match=message):
            Algorithm("knn", KNN, start=start)

    def test_does_not_notice_later_changes_of_what_it_was_given(self):
        start = {"k": 5}
        algorithm = Algorithm("knn", KNN, start=start)
        start["k"] = 7
        assert algorithm.start == {"k": 5}

    def test_with_another_start_is_another(self):
        assert Algorithm("knn", KNN, start={"k": 5}) != Algorithm("knn", KNN)


class TestASpace:
    def test_begins_at_starts_and_in_the_middle_where_there_is_none(self):
        here = space(knn={"k": 5})
        middle = here.decode(here.first, here.centre)
        assert here.initial["scaler"].params["q"] == pytest.approx(0.25)
        assert here.initial["model"] == middle["model"]
        knn = here.decode((0, 1), here.start)["model"]
        assert knn.params["k"] == 5
        assert knn.params["p"] == KNN["p"].from_unit(0.5)

    def test_without_starts_begins_in_the_middle_to_the_last_bit(self):
        here = Space([Module("model", [Algorithm("logit", {"C": Real(1e-3, 1e2, log=True)})])])
        assert here.start.tolist() == here.centre.tolist()
        assert here.initial == here.decode(here.first, here.centre)

    def test_writes_starts_down_only_where_there_are_any(self):
        here = space(knn={"k": 5})
        described = here.to_dict()["modules"][1]["algorithms"]
        assert [a.get("start") for a in described] == [None, {"k": 5}, None]
        assert "start" not in described[0]
        assert Space.from_dict(here.to_dict()) == here

    def test_offers_a_pipeline_for_every_start_of_the_last_module_that_has_any(self):
        found = space_starts(space(knn={"k": 5}, bayes={}))
        assert [c["model"].algorithm for c in found] == ["knn", "bayes"]
        assert {c["scaler"].params["q"] for c in found} == {space().initial["scaler"].params["q"]}

    def test_offers_the_starts_of_an_earlier_module_where_the_last_has_none(self):
        assert [c["scaler"].algorithm for c in space_starts(space())] == ["robust"]

    def test_offers_nothing_without_starts(self):
        assert space_starts(Space([Module("model", [Algorithm("a"), Algorithm("b")])])) == ()


class TestAProblem:
    def test_puts_starts_on_the_lattice_and_drops_repetitions(self):
        here = space()
        start = {"scaler": ("robust", {"q": 0.1}), "model": ("logit", {"C": 0.3})}
        (found,) = Problem(here, measure, starts=[start, here.configuration(start)]).starts
        assert here.decode(*here.encode(found)) == found
        assert found["model"].params["C"] == pytest.approx(0.3)

    @pytest.mark.parametrize(
        ("starts", "message"),
        [
            ("knn", "starts must be a list"),
            (["knn"], "start 1 is not a configuration.*space.configuration"),
            ([{"scaler": "none"}], "start 1 is not in the space. Module 'model' has no choice"),
        ],
    )
    def test_refuses_starts_that_are_not_in_its_space(self, starts, message):
        with pytest.raises(DefinitionError, match=message):
            Problem(space(), measure, starts=starts)

    def test_is_searched_from_the_safe_pipeline_and_then_its_starts(self):
        here = space()
        starts = [
            here.configuration({"scaler": "none", "model": ("knn", {"k": k, "p": 1})})
            for k in range(1, 8)
        ]
        assert measured(Problem(here, measure, starts=starts), 8) == [here.initial, *starts]

    def test_is_searched_from_the_starts_of_its_space_if_it_has_none_of_its_own(self):
        here = space(knn={"k": 5}, bayes={})
        first = measured(Problem(here, measure), 6)
        assert first[:3] == [here.initial, *space_starts(here)]
        # Random ones follow, as many as make up for those that are not known.
        assert len(set(first)) == 6

    def test_never_tries_a_start_that_its_rules_forbid(self):
        here = space(knn={"k": 5}, bayes={})
        problem = Problem(here, measure, allowed=forbid({"model": "knn"}))
        assert all(c["model"].algorithm != "knn" for c in measured(problem, 6))

    def test_with_other_starts_is_another_run(self, tmp_path):
        here = space()
        bayes = here.configuration({"scaler": "none", "model": "bayes"})
        minimize(Problem(here, measure, starts=[bayes]), evaluations=2, run_dir=tmp_path / "run")
        with pytest.raises(RunMismatchError, match="starts"):
            minimize(Problem(here, measure), evaluations=3, run_dir=tmp_path / "run")


def test_search_of_a_space_without_starts_draws_as_it_always_did():
    # Pinned: black-box results must not move with what is known about named spaces.
    real, whole = Algorithm("a", {"x": Real(0, 1)}), Algorithm("b", {"k": Integer(1, 9)})
    found = measured(Problem(Space([Module("m", [real, whole])]), measure), 6)
    expected = ["a(x=0.5)", "a(x=0.5118)", "b(k=9)", "b(k=4)", "a(x=0.8277)", "b(k=1)"]
    assert [str(configuration) for configuration in found] == expected
