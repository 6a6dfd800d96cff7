import sys
from dataclasses import replace

import pandas as pd
import pytest

import fenceline as fl
from fenceline.baselines import RandomSearch
from fenceline.errors import MeasurementError, MissingDependencyError, StoreError
from fenceline.store import RunDirectory
from fenceline.store.export import to_csv, to_mlflow, to_optuna, to_parquet
from fenceline.store.stored_run import read

SPACE = fl.Space(
    [
        fl.Module("scale", [fl.Algorithm("none"), fl.Algorithm("standard")]),
        fl.Module(
            "model",
            [
                fl.Algorithm("logit", {"C": fl.Real(1e-3, 1e3, log=True)}),
                fl.Algorithm(
                    "tree",
                    {"depth": fl.Integer(1, 12), "features": fl.Categorical([1, "sqrt", None])},
                ),
            ],
        ),
    ]
)
CONSTRAINTS = ["latency_us <= 10", "rate == 0.5 +- 0.1"]


def measure(configuration):
    model = configuration["model"]
    if model.algorithm == "tree" and model.params["depth"] > 9:
        raise RuntimeError("too deep")
    size = model.params.get("depth", 3)
    return {"loss": 1.0 / size, "latency_us": (2.0 * size, 0.1), "rate": 0.45}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "run"
    problem = fl.Problem(SPACE, measure, constraints=CONSTRAINTS)
    found = fl.minimize(problem, evaluations=30, seed=4, run_dir=path, algorithm=RandomSearch())
    assert {e.status for e in found.evaluations} == {"ok", "error"}
    assert {e.feasible for e in found.evaluations if e.ok} == {True, False}
    return found, path


@pytest.fixture(params=["result", "directory"])
def run(request, result):
    return result[request.param == "directory"]


def test_a_csv_has_a_row_for_every_evaluation_and_a_column_for_everything_known(
    run, result, tmp_path
):
    to_csv(run, tmp_path / "run.csv")
    table = pd.read_csv(tmp_path / "run.csv")
    evaluations = result[0].evaluations
    assert list(table["model"]) == [e.configuration["model"].algorithm for e in evaluations]
    assert list(table["status"]) == [e.status for e in evaluations]
    assert list(table["feasible"]) == [e.feasible for e in evaluations]
    measured = table[table["status"] == "ok"]
    assert list(measured["loss"]) == pytest.approx([e.objective for e in evaluations if e.ok])
    assert set(measured["standard error of latency_us"]) == {0.1}
    assert table["message"].dropna().unique().tolist() == ["RuntimeError: too deep"]
    assert list(table.columns[:3]) == ["scale", "model", "model.logit.C"]


def test_a_run_without_an_evaluation_is_an_empty_table_with_its_columns(tmp_path):
    described = {"space": SPACE.to_dict(), "objective": "loss", "constraints": []}
    RunDirectory.open(tmp_path / "run", described).close()
    to_csv(tmp_path / "run", tmp_path / "run.csv")
    table = pd.read_csv(tmp_path / "run.csv")
    assert len(table) == 0
    assert "model.tree.depth" in table.columns


def test_a_directory_that_does_not_say_what_was_searched_is_refused(tmp_path):
    RunDirectory.open(tmp_path / "run", {"seed": 0}).close()
    with pytest.raises(StoreError, match="does not say what was searched"):
        to_csv(tmp_path / "run", tmp_path / "run.csv")


def test_a_parquet_table_holds_the_same_even_where_choices_have_two_types(run, result, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed; pip install pyarrow")
    to_parquet(run, tmp_path / "run.parquet")
    table = pd.read_parquet(tmp_path / "run.parquet")
    evaluations = result[0].evaluations
    assert list(table["status"]) == [e.status for e in evaluations]
    assert {"1", "sqrt"} <= set(table["model.tree.features"].dropna())
    deep = [e.configuration["model"].params.get("depth") for e in evaluations]
    assert list(table["model.tree.depth"].dropna()) == [d for d in deep if d is not None]


def test_an_optuna_study_shows_parameters_constraints_and_failures(run, result):
    optuna = pytest.importorskip(
        "optuna", reason="Optuna is not installed; pip install fenceline[optuna]"
    )
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = to_optuna(run)
    evaluations = result[0].evaluations
    assert study.metric_names == ["loss"]
    for trial, evaluation in zip(study.trials, evaluations, strict=True):
        model = evaluation.configuration["model"]
        assert trial.params["model"] == model.algorithm
        for name, value in model.params.items():
            assert trial.params[f"model.{model.algorithm}.{name}"] == value
        assert trial.state.name == ("COMPLETE" if evaluation.ok else "FAIL")
        assert trial.user_attrs["status"] == evaluation.status
        if evaluation.ok:
            assert trial.value == evaluation.objective
            assert list(trial.constraints) == ["latency_us <= 10", "rate == 0.5 +- 0.1"]
            assert evaluation.feasible == all(v <= 0 for v in trial.constraints.values())
    assert study.best_value == result[0].best.objective
    logit = next(t for t in study.trials if "model.logit.C" in t.params)
    assert logit.distributions["model.logit.C"] == optuna.distributions.FloatDistribution(
        1e-3, 1e3, log=True
    )


def test_looks_are_exported_with_their_share_of_the_rows_and_never_as_the_best(result, tmp_path):
    found = result[0]
    look = replace(found.best, objective=0.001, fidelity=0.25)
    seen = replace(found, evaluations=(*found.evaluations, look))
    to_csv(seen, tmp_path / "run.csv")
    assert list(pd.read_csv(tmp_path / "run.csv")["fidelity"])[-2:] == [1.0, 0.25]
    optuna = pytest.importorskip(
        "optuna", reason="Optuna is not installed; pip install fenceline[optuna]"
    )
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = to_optuna(seen)
    assert study.trials[-1].state.name == "PRUNED"
    assert study.best_value == found.best.objective


def test_an_optuna_study_is_kept_in_the_storage_it_is_given(result, tmp_path):
    optuna = pytest.importorskip(
        "optuna", reason="Optuna is not installed; pip install fenceline[optuna]"
    )
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    journal = optuna.storages.journal.JournalFileBackend(str(tmp_path / "optuna.log"))
    storage = optuna.storages.JournalStorage(journal)
    to_optuna(result[1], storage=storage, name="credit")
    again = optuna.load_study(study_name="credit", storage=storage)
    assert len(again.trials) == 30
    assert again.best_value == result[0].best.objective


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    """The real MLflow, keeping its runs in a directory of the test."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database takes seconds to be made
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    return pytest.importorskip(
        "mlflow", reason="MLflow is not installed; pip install fenceline[mlflow]"
    )


@pytest.mark.filterwarnings("default::FutureWarning")  # about the future of directories
def test_mlflow_gets_one_run_with_a_nested_one_for_each_evaluation(run, result, mlflow):
    number = to_mlflow(run, name="credit")
    client, evaluations = mlflow.MlflowClient(), result[0].evaluations
    outer = client.get_run(number)
    inner = client.search_runs(
        [outer.info.experiment_id], f"tags.mlflow.parentRunId = '{number}'", max_results=100
    )
    inner.sort(key=lambda nested: int(nested.info.run_name.removeprefix("credit-")))
    assert mlflow.active_run() is None
    assert (outer.info.run_name, outer.info.status) == ("credit", "FINISHED")
    assert outer.data.metrics == {"loss": result[0].best.objective}
    assert outer.data.params == {
        "objective": "loss",
        "constraints": "latency_us <= 10, rate == 0.5 +- 0.1",
    }
    for nested, evaluation in zip(inner, evaluations, strict=True):
        model = evaluation.configuration["model"]
        named = {f"model.{model.algorithm}.{k}": str(v) for k, v in model.params.items()}
        scale = evaluation.configuration["scale"].algorithm
        assert nested.data.params == {"scale": scale, "model": model.algorithm} | named
        assert nested.info.status == ("FINISHED" if evaluation.ok else "FAILED")
        assert nested.data.tags["status"] == evaluation.status
        assert nested.data.tags["message"] == evaluation.message
        assert nested.data.metrics == evaluation.metrics | {"seconds": evaluation.seconds} | (
            {"violation": evaluation.violation} if evaluation.ok else {}
        )


@pytest.mark.filterwarnings("default::FutureWarning")
def test_mlflow_gets_names_in_letters_that_it_takes(mlflow):
    name = "score_gap(roc_auc,Age,bins=30:40)"
    space = fl.Space([fl.Module("a (first)", [fl.Algorithm("x=y", {"p[0]": fl.Real(0, 1)})])])
    problem = fl.Problem(space, lambda _: {name: 0.5}, objective=name)
    number = to_mlflow(fl.minimize(problem, evaluations=1))
    client = mlflow.MlflowClient()
    outer = client.get_run(number)
    assert outer.data.metrics == {"score_gap_roc_auc_Age_bins_30_40_": 0.5}
    nested = f"tags.mlflow.parentRunId = '{number}'"
    (inner,) = client.search_runs([outer.info.experiment_id], nested)
    assert set(inner.data.params) == {"a _first_", "a _first_.x_y.p_0_"}


@pytest.mark.parametrize(
    ("package", "export", "remedy"),
    [
        ("optuna", to_optuna, r"pip install 'fenceline\[optuna\]'"),
        ("pyarrow", lambda run: to_parquet(run, "never.parquet"), "pip install pyarrow"),
        ("mlflow", to_mlflow, "pip install mlflow"),
    ],
)
def test_without_the_package_the_error_names_it(package, export, remedy, result, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=remedy):
        export(result[0])


def test_a_problem_read_from_a_directory_says_why_it_cannot_be_measured(result):
    stored = read(result[1])
    with pytest.raises(MeasurementError, match="give minimize the problem that the run was made"):
        stored.problem.measure(stored.evaluations[0].configuration)
