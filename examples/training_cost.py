"""
Regression with a limit on the cost of training
===============================================

A model that is fitted anew for each of ten thousand shops must be cheap to fit. The best :math:`R^2` is wanted from
models whose training takes at most a tenth of a second of processor time.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1

from fenceline import FencelineRegressor, metrics, plots
from fenceline.pipelines import drop, named_space

X, y = make_friedman1(1_000, n_features=10, noise=1.0, random_state=0)

space = drop(named_space("default", "regression"), "estimator", "MLP")
model = FencelineRegressor(
    objective="r2",
    constraints=[metrics.train_seconds() <= 0.1],
    space=space,
    evaluations=20,
    cv=0.3,
    random_state=0,
)
model.fit(X, y)
print(model.best_configuration_)
print(f"R2 in the search: {1 - model.best_metrics_['loss(r2)']:.3f}")
print(model.certificate_)

# %%
# Processor time is counted, not time on the clock, so that other programs on the same machine disturb
# it little. It still depends on the machine: a fence of seconds belongs to the machine on which
# it is measured. The limit is about the fit on the rows of the search; the certificate looks at
# the last fit, on more rows than a fold has, and says so if that one is dearer.

# %%
# Which models are cheap, and which are good? The limit cuts off the slow ones, whatever their score.

_, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
plots.trade_off(model.result_, "train_seconds", axes[0])
axes[0].set(xscale="log", yscale="log", title="1 - R2 against training time")
plots.algorithms(model.result_, axes[1])
axes[1].set(title="What was tried")
