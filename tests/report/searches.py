"""Searches for the tests of reports, written down instead of run."""

import math

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
