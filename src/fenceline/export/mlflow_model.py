"""A model in MLflow: plain scikit-learn, with a signature, its card and its certificate."""

import contextlib
import warnings
from importlib import import_module
from typing import Any

from fenceline.errors import MissingDependencyError
from fenceline.export.card import make_card
from fenceline.export.facts import number
from fenceline.store.export import mlflow_name

_EXAMPLES = 100
"""Rows that the signature is read from; none of them is stored."""


def log_model(model: Any, X: Any, *, name: str = "model", card: str | None = None) -> str:
    """Log a model to MLflow's active run, or to a new one, and return the model's address.

    Parameters
    ----------
    model : FencelineClassifier or FencelineRegressor
        Fitted, or loaded. What is logged is its :meth:`to_sklearn`, so that it is served where
        Fenceline is not installed.
    X : DataFrame or array
        Rows that the signature is read from: names and types of the columns.
    name : str
        Of the model in its run.
    card : str, optional
        A model card; made from the model by default.

    Returns
    -------
    str
        Such as ``models:/m-...``, for ``mlflow.pyfunc.load_model``.
    """
    try:
        mlflow = import_module("mlflow")
        import_module("mlflow.sklearn")
        signatures = import_module("mlflow.models")
    except ImportError as missing:
        raise MissingDependencyError(
            "log_model needs MLflow. Install it with: pip install mlflow"
        ) from missing
    rows = X[:_EXAMPLES]
    plain = model.to_sklearn()
    with warnings.catch_warnings():
        # Whole numbers may be missing later, says MLflow of every column of them.
        warnings.simplefilter("ignore")
        signature = signatures.infer_signature(rows, plain.predict(rows))
        # The active run is left open; a new one ends with the block.
        with contextlib.nullcontext() if mlflow.active_run() else mlflow.start_run():
            logged = mlflow.sklearn.log_model(
                sk_model=plain, name=name, signature=signature, serialization_format="cloudpickle"
            )
            mlflow.log_text(card or make_card(model), "card.md")
            if model.certificate_ is not None:
                mlflow.log_text(str(model.certificate_), "certificate.txt")
                mlflow.set_tag("fenceline.status", model.certificate_.status)
            for key, value in model.best_metrics_.items():
                if number(value):
                    mlflow.log_metric(mlflow_name(key), value)
    address: str = logged.model_uri
    return address
