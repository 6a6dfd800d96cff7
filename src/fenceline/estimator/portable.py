"""A model in a form that a file can hold: what may be in it, and our own records as text."""

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from fenceline.certificate.inspection import Inspection
from fenceline.certificate.refits import Finalist
from fenceline.errors import MeasurementError
from fenceline.metrics.scorers import Scoring, is_scorer, scorer_text
from fenceline.pipelines.cross_validation import Finished
from fenceline.problem.configuration import Choice, Configuration, FrozenParams
from fenceline.problem.constraint import Constraint
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.measurement import Spread
from fenceline.problem.problem import Problem
from fenceline.problem.space import Space
from fenceline.result.result import Result
from fenceline.search.iterate import Iterate
from fenceline.store.older import with_spreads

_ALLOWED = {
    "catboost.core": "CatBoostClassifier CatBoostRegressor",
    "collections": "OrderedDict",
    "fenceline.certificate.certify": "Certificate Check",
    "fenceline.certificate.refits": "Finalist",
    "fenceline.problem.constraint": "Constraint Metric",
    "fenceline.estimator.estimators": "FencelineClassifier FencelineRegressor",
    "fenceline.evaluation.limits": "Limits",
    "fenceline.metrics.custom": "Custom CustomConstraint",
    "fenceline.metrics.fairness": "EqualizedOdds ScoreGap SelectionRates SelectionRatio",
    "fenceline.metrics.rates": "ErrorRate",
    "fenceline.metrics.resources": "Latency Memory Size TrainSeconds",
    "fenceline.metrics.scorers": "ScorerObject",
    "fenceline.metrics.scores": "Loss Robustness Score",
    "fenceline.metrics.worst_group": "WorstGroup",
    "fenceline.pipelines.fitting.group_thresholds": "GroupThresholds",
    "fenceline.pipelines.fitting.labels": "EncodedLabels",
    "fenceline.pipelines.fitting.prepare_columns": "median to_dense",
    "fenceline.pipelines.fitting.prepare_table": "TablePreparation",
    "fenceline.estimator.portable": "Forgotten Written",
    "functools": "partial",  # of a function that is itself on the list: boosters with native categories
    "lightgbm.basic": "Booster",
    "lightgbm.sklearn": "LGBMClassifier LGBMRegressor",
    "numpy": "dtype",
    "scipy.sparse._csr": "csr_matrix",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.feature_selection._univariate_selection": "f_classif f_regression",
    "sklearn.gaussian_process._gpc": "_BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels": "ConstantKernel Product RBF",
    "sklearn.metrics._dist_metrics": "EuclideanDistance64 ManhattanDistance64 MinkowskiDistance64",
    "sklearn.model_selection._split": "GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut LeaveOneOut "
    "LeavePGroupsOut LeavePOut PredefinedSplit RepeatedKFold RepeatedStratifiedKFold ShuffleSplit "
    "StratifiedGroupKFold StratifiedKFold StratifiedShuffleSplit TimeSeriesSplit",
    "sklearn.neighbors._ball_tree": "BallTree",
    "sklearn.neighbors._kd_tree": "KDTree",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.tree._tree": "Tree",
    "sklearn.utils._bunch": "Bunch",
    "sklearn.utils.validation": "check_array",
    "xgboost.core": "Booster",
    "xgboost.sklearn": "XGBClassifier XGBRegressor",
}
ALLOWED = frozenset(
    f"{place}.{name}" for place, names in _ALLOWED.items() for name in names.split()
)
"""What models of the named spaces are made of, beyond the types that skops trusts on its own."""
INSPECTION = Inspection.__annotations__.keys()


@dataclass(frozen=True)
class Written:
    """Something of ours as text: simple to read by other programs, and by later versions of this one."""

    kind: str
    text: str

    def read(self) -> Any:
        """Return what was written."""
        return {
            "space": Space.from_dict,
            "configuration": _configuration,
            "result": _result,
            "inspection": dict,
        }[self.kind](json.loads(self.text))


@dataclass(frozen=True)
class Forgotten:
    """Stands for a function of the user's, which a file can name but not hold."""

    name: str

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, pipeline: Any, X: Any, y: Any, groups: Any) -> NoReturn:
        """Refuse to measure."""
        raise MeasurementError(
            f"The function {self.name!r} was not saved with the model; set the parameter that names "
            "it to the function itself to fit again."
        )


def portable(value: Any) -> Any:
    """Return a value in a form that skops can write and :func:`load` may read."""
    if isinstance(value, Space):
        return _written("space", value.to_dict())
    if isinstance(value, Configuration):
        return _written("configuration", value.to_dict())
    if isinstance(value, Result):
        return _written("result", _describe(value))
    if isinstance(value, dict) and value.keys() == INSPECTION:
        return _written("inspection", value)  # skops would make a file's entry of every number
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, list | tuple):
        return type(value)(portable(item) for item in value)
    if is_scorer(value):
        return Forgotten(scorer_text(value))
    if isinstance(value, Scoring):
        return Forgotten(value.__name__)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: portable(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return dataclasses.replace(value, **changed)
    if callable(value) and hasattr(value, "__name__"):
        return Forgotten(value.__name__)
    return value


def restored(value: Any) -> Any:
    """Return what :func:`portable` was given, as far as a file can hold it."""
    if isinstance(value, tuple):
        return tuple(map(restored, value))
    if isinstance(value, Finalist):
        # Files of older versions lack fields that came later.
        names = [f.name for f in dataclasses.fields(Finalist) if hasattr(value, f.name)]
        known = {name: getattr(value, name) for name in names}
        return Finalist(**known | {"configuration": restored(value.configuration)})
    return value.read() if isinstance(value, Written) else value


def _written(kind: str, description: Any) -> Written:
    return Written(kind, json.dumps(description, default=_plain))


def _plain(value: Any) -> Any:
    """Return arrays and numpy's numbers in JSON's types."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def _describe(result: Result) -> dict[str, Any]:
    problem = result.problem
    return {
        "space": problem.space.to_dict(),
        "objective": problem.objective,
        "constraints": [_fields(c, Constraint) for c in problem.constraints],
        "metrics": list(problem.measure.metrics),  # type: ignore[attr-defined]
        "evaluations": [
            _fields(e, Evaluation)
            | {
                "configuration": e.configuration.to_dict(),
                "spreads": {name: spread.to_list() for name, spread in e.spreads.items()},
            }
            for e in result.evaluations
        ],
        "iterations": [_fields(i, Iterate) for i in result.iterations],
        "ended": result.ended,
        "seconds": result.seconds,
        "finished_at": list(result.finished_at),
        "suggest_seconds": list(result.suggest_seconds),
    }


def _fields(thing: Any, kind: Any) -> dict[str, Any]:
    """Return a record's fields as its plain base class has them."""
    return {f.name: getattr(thing, f.name) for f in dataclasses.fields(kind)}


def _result(found: dict[str, Any]) -> Result:
    space = Space.from_dict(found.pop("space"))
    problem = Problem(
        space,
        Finished(tuple(found.pop("metrics"))),
        found.pop("objective"),
        [Constraint(**c) for c in found.pop("constraints")],
    )
    evaluations = [_evaluation(space, e) for e in found.pop("evaluations")]
    iterations = [_iterate(i) for i in found.pop("iterations")]
    return Result(problem, tuple(evaluations), iterations=tuple(iterations), **found)


def _evaluation(space: Space, found: dict[str, Any]) -> Evaluation:
    if "spreads" not in found:
        found = with_spreads(found)
    spreads = {n: Spread(s[0], tuple(s[1:])) for n, s in found.pop("spreads", {}).items()}
    configuration = space.configuration(found.pop("configuration"))
    return Evaluation(configuration, spreads=spreads, **found)


def _iterate(found: dict[str, Any]) -> Iterate:
    arrays = {n: np.array(found[n], dtype=float) for n in ("theta", "delta", "lam", "u", "mu")}
    return Iterate(**found | arrays | {"z": tuple(found["z"])})


def _configuration(found: Mapping[str, Any]) -> Configuration:
    """Read a configuration without its space: what it was, not whether it is allowed."""
    return Configuration(
        tuple((m, Choice(name, FrozenParams(params))) for m, (name, params) in found.items())
    )
