"""Searches for the tests of reports, written down instead of run."""

import math
from types import SimpleNamespace

import numpy as np

import fenceline as fl
from fenceline.search.iterate import Iterate

SPACE = fl.Space(
    [
        fl.Module("scaler", [fl.Algorithm("none"), fl.Algorithm("robust", {"q": fl.Real(0, 1)})]),
        fl.Module(
            "model",
            [
                fl.Algorithm("knn", {"k": fl.Integer(1, 99), "p": fl.Categorical(["one", "two"])}),
                fl.Algorithm(
                    "boosting",
                    {f"rate{i}": fl.Real(1e-4, 1.0, log=True) for i in range(7)},
                ),
            ],
        ),
    ]
)
CONSTRAINTS = ("latency_us <= 10", "auc >= 0.6")


def problem(constraints=CONSTRAINTS, space=SPACE, objective="loss"):
    return fl.Problem(space, lambda configuration: {}, objective, constraints)


def evaluation(about, configuration, **metrics):
    values = {"loss": 0.5, "latency_us": 5.0, "auc": 0.9} | metrics
    return fl.Evaluation(
        configuration, values, values[about.objective], about.violation(values), seconds=0.5
    )


def failure(configuration, message="ValueError: singular matrix", status="error"):
    return fl.Evaluation(configuration, {}, math.inf, math.inf, status, 0.25, message)


def iterate(t, mu, evaluations):
    nothing = np.zeros(0)
    return Iterate(
        t, (0, 0), nothing, nothing, nothing, nothing, np.array(mu), 1.0, 1 / (t + 1), 0.0,
        evaluations, {"latency_us <= 10": 0.25, "auc >= 0.6": 0.0},
    )  # fmt: skip


def search(count, about=None, seed=0):
    """Return a search of so many pipelines, one in ten failed, about half of the others feasible."""
    about = about or problem()
    rng = np.random.default_rng(seed)
    pool = [about.space.sample(rng) for _ in range(count)]
    latency = rng.lognormal(2.2, 0.6, count)
    loss = 0.1 + 0.3 / latency + rng.exponential(0.05, count)
    auc = rng.uniform(0.5, 1, count)
    found = [
        failure(configuration)
        if i % 10 == 7
        else evaluation(
            about,
            configuration,
            loss=float(loss[i]),
            latency_us=float(latency[i]),
            auc=float(auc[i]),
        )
        for i, configuration in enumerate(pool)
    ]
    others = [0.0] * (len(about.constraints) - 1)
    iterations = tuple(iterate(t, (0.1 * t, *others), 10 * t + 5) for t in range(count // 10))
    return fl.Result(about, tuple(found), "evaluations", 12.5, iterations)


def share(events, cases, low, high):
    return {"events": events, "cases": cases, "value": events / cases, "low": low, "high": high}


def inspection(**changes):
    """Return what a model of two classes does, on a hundred unseen rows."""
    nothing = dict.fromkeys(["by_class", "numbers"])
    rates = {
        "predicted positive": share(20, 40, 0.34, 0.66),
        "true-positive rate": share(9, 12, 0.43, 0.95),
    }
    others = {"predicted positive": share(31, 60, 0.38, 0.65)}
    return nothing | {
        "format": 1, "basis": "unseen", "rows": 100, "task": "binary", "confidence": 0.95,
        "seconds": 0.31, "allowed": 1.8, "classes": ["default", "repaid"], "missing": {},
        "objective": {
            "name": "precision", "larger_is_better": True,
            "value": 0.7843, "low": 0.6468, "high": 0.8871, "searched": 0.8125,
        },
        "scores": {"roc_auc": 0.8765, "accuracy": 0.79},
        "threshold": {"value": 0.6543, "kind": "probability"},
        "confusion": [[39, 11], [10, 40]],
        "roc": {"x": [0.0, 0.1, 0.4, 1.0], "y": [0.0, 0.6, 0.9, 1.0], "area": 0.8765},
        "precision_recall": {"x": [0.0, 0.6, 1.0], "y": [1.0, 0.9, 0.5], "area": 0.8421},
        "calibration": {
            "bins": [
                {"predicted": 0.21, "observed": share(12, 50, 0.13, 0.38)},
                {"predicted": 0.74, "observed": share(38, 50, 0.62, 0.87)},
            ],
            "brier": 0.1432, "error": 0.025,
        },
        "threshold_metrics": {
            "thresholds": [0.0, 0.3, 0.6543, 0.8, 1.0], "selected": [1.0, 0.7, 0.5, 0.2, 0.0],
            "metrics": {
                "loss(precision)": [0.5, 0.3, 0.2, 0.1, None],
                "false_positive_rate": [1.0, 0.6, 0.15, 0.05, 0.0],
            },
        },
        "groups": [{"column": "sex", "groups": [
            {"label": "f", "rows": 40, "score": 0.71, "rates": rates, "residuals": None},
            {"label": "m", "rows": 60, "score": 0.83, "rates": others, "residuals": None},
        ]}],
        "importance": {
            "score": "precision", "rows": 100, "further": 2, "left_out": 0,
            "columns": [
                {"name": "income", "drop": 0.213, "error": 0.012, "shuffles": 8},
                {"name": "age", "drop": -0.004, "error": None, "shuffles": 1},
            ],
        },
    } | changes  # fmt: skip


def regression(**changes):
    """Return what a model of numbers does."""
    spread = {
        "mean": 0.1,
        "low": -0.2,
        "high": 0.4,
        "absolute": 0.9,
        "quantiles": [-2, -1, 0.1, 1, 2],
    }
    group = {"score": 0.8, "rates": {}, "residuals": spread}
    return inspection(
        task="regression",
        classes=[],
        objective={"name": "r2", "larger_is_better": True, "value": 0.81, "low": None, "high": None, "searched": 0.8},
        **dict.fromkeys(["threshold", "confusion", "roc", "precision_recall", "calibration", "threshold_metrics"]),
        numbers={"true": [1.0, 2.0, 4.0], "predicted": [1.5, 2.0, 3.0], "residuals": spread},
        groups=[{"column": "sex", "groups": [group | {"label": "f", "rows": 40}, group | {"label": "m", "rows": 60}]}],
    ) | changes  # fmt: skip


def fitted(result, inspected=None, **more):
    """Return what a report reads of a fitted estimator: the best of a search."""
    given = {
        "result_": result,
        "certificate_": None,
        "best_pipeline_": None,
        "best_configuration_": result.best.configuration,
        "best_metrics_": result.best.metrics,
        "inspection_": inspected,
        "get_params": lambda deep: {"cv": 3, "confidence": 0.9},
    }
    return SimpleNamespace(**given | more)


def curved(count, seed=0):
    """Return a search for precision whose pipelines have curves over thresholds."""
    about = fl.Problem(
        SPACE, lambda c: {}, "loss(precision)", ["false_positive_rate <= 0.2", "latency_us <= 10"]
    )
    rng = np.random.default_rng(seed)
    odds = np.linspace(-3, 3, 13)
    found = []
    for _ in range(count):
        shift = rng.normal()
        rate = np.clip(1 / (1 + np.exp(2 * odds + shift)), 0, 1)
        loss = np.clip(0.1 + 0.5 * rate + 0.1 * rng.random(), 0, 1)
        at = int(np.argmin(np.where(rate <= 0.2, loss, 2)))
        values = {
            "loss(precision)": loss.round(4).tolist(),
            "false_positive_rate": rate.round(4).tolist(),
        }
        metrics = {n: v[at] for n, v in values.items()} | {
            "latency_us": float(rng.lognormal(2, 0.6)),
            "threshold": float(odds[at]),
        }
        curve = {
            "log_odds": odds.tolist(),
            "selected": (1.2 * rate).clip(0, 1).tolist(),
            "values": values,
            "errors": {},
        }
        found.append(
            fl.Evaluation(
                SPACE.sample(rng), metrics, metrics["loss(precision)"], about.violation(metrics),
                seconds=0.5, details={"curve": curve},
            )
        )  # fmt: skip
    return fl.Result(about, tuple(found), "evaluations", 12.5)


EVIL = "<script>window.pwned=1</script>"


def evil():
    """Return a search whose every name and message tries to become part of the page."""
    image = '"><img src=x onerror="window.pwned=1">'
    space = fl.Space(
        [
            fl.Module(
                f"module {EVIL}",
                [
                    fl.Algorithm(EVIL, {"<!--": fl.Categorical(["</script>", image])}),
                    fl.Algorithm("x"),
                ],
            )
        ]
    )
    metric = f"</script>{EVIL}"
    about = fl.Problem(space, lambda c: {}, EVIL, [fl.Constraint(metric, "<=", 1.0)])
    chosen = [
        space.configuration({f"module {EVIL}": (EVIL, {"<!--": value})})
        for value in ("</script>", image)
    ]
    return fl.Result(
        about,
        (
            fl.Evaluation(chosen[0], {EVIL: 0.5, metric: 0.5}, 0.5, 0.0),
            fl.Evaluation(chosen[1], {EVIL: 0.4, metric: 0.7}, 0.4, 0.0),
            failure(chosen[1], f"<!-- {EVIL} {image}"),
        ),
        "evaluations",
        1.0,
    )
