"""
A limit on false alarms
=======================

Fraud is rare, and every alarm costs somebody's time: catch as many frauds as possible while at most
3 % of the honest are bothered. Where a limit is put on decisions, the *decision threshold* matters as
much as the model, so Fenceline computes the best one inside the limit for every pipeline it measures.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from fenceline import FencelineClassifier, metrics, plots
from fenceline.pipelines import named_space, only

X, fraud = make_classification(
    6_000,
    n_features=12,
    n_informative=6,
    weights=[0.95],
    flip_y=0.01,
    random_state=0,
)
print(f"{fraud.sum()} frauds among {len(fraud)} payments")
space = only(named_space("default"), "estimator", "LogisticRegression", "DecisionTree")


def search(objective, **settings):
    """Search with the same fence and the same budget, for one objective or another."""
    model = FencelineClassifier(
        objective=objective,
        constraints=[metrics.false_positive_rate() <= 0.03],
        space=space,
        evaluations=24,
        cv=0.3,
        random_state=0,
        **settings,
    )
    return model.fit(X, fraud)


# %%
# Miss as few as possible
# -----------------------
# The objective is the share of frauds that are missed. It is about decisions, as the limit is.

model = search(metrics.false_negative_rate())
print(model.best_configuration_)
print(model.certificate_)

# %%
# The threshold is among the metrics, in log-odds: 0 would be even odds. The best of the search goes right up
# to the fence, and unseen rows would confirm such a pipeline only every other time; so a
# pipeline with some room to spare may have become the model:

print(f"threshold: {model.best_metrics_['threshold']:.3g}")
best, chosen = model.result_.best.metrics, model.best_metrics_
for name, found in {"best of the search": best, "the model": chosen}.items():
    alarms, missed = found["false_positive_rate"], found["false_negative_rate"]
    print(f"{name:20} {alarms:.1%} false alarms, {1 - missed:.0%} of the frauds caught")

# %%
# Without the threshold
# ---------------------
# At even odds the search has to find a model that happens to use what the limit allows.

even = search(metrics.false_negative_rate(), search_threshold=False)
best = even.result_.best.metrics
alarms, missed = best["false_positive_rate"], best["false_negative_rate"]
print(f"{alarms:.1%} false alarms, {1 - missed:.0%} of the frauds caught")

# %%
# An objective that only ranks
# ----------------------------
# ``roc_auc`` judges rankings and does not care where the threshold lies. With it as the objective, the
# threshold is the one of best balanced accuracy that keeps the limit, and pipelines are compared
# by their ranking alone.

ranker = search("roc_auc")
print(ranker.best_configuration_)
found = ranker.best_metrics_["false_positive_rate"]
print(
    f"{found:.1%} false alarms, {ranker.predict(X)[fraud == 1].mean():.0%} caught, of rows it was fitted on"
)

# %%
# If decisions are what counts, let the objective count them: ``false_negative_rate``,
# ``balanced_accuracy``, ``f1``, a cost of your own.

_, ax = plt.subplots(layout="constrained")
plots.trade_off(model.result_, "false_positive_rate", ax)
ax.set_xscale("symlog", linthresh=0.01)
ax.set(title="Frauds missed against false alarms")
