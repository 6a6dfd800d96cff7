"""
Credit, fair and fast
=====================

Which loan applicants will pay back? A bank wants the best ranking it can get, under two conditions:
scoring a batch must be fast, and the ranking must work about as well for the young as for the old.
The table is bundled: 4,454 applicants, with missing values, numbers and categories.
"""

import matplotlib.pyplot as plt

from fenceline import FencelineClassifier, data, metrics, plots
from fenceline.pipelines import named_space, only
from fenceline.report.explain import explain

table = data.credit()
status = table.pop("Status")
print(table.iloc[:3, :7].to_string(index=False))

# %%
# State the fence, and search
# ---------------------------
# A small space, a budget of 16 pipelines and a single split keep this page quick; in earnest one
# would leave out ``space`` and ``cv`` and say ``seconds=300``. A fifth of the rows is put aside before
# the search starts.

names = ["LogisticRegression", "DecisionTree", "HistGradientBoosting", "RandomForest"]
model = FencelineClassifier(
    objective="roc_auc",
    constraints=[
        metrics.latency_us(batch=1000) <= 15,
        metrics.score_gap("roc_auc", group="Age", bins=[35]) <= 0.12,
    ],
    space=only(named_space("default"), "estimator", *names),
    evaluations=16,
    cv=0.3,
    random_state=0,
)
model.fit(table, status)
for step, choice in model.best_configuration_.items():
    print(f"{step}: {choice}")

# %%
# The certificate
# ---------------
# What the search itself measured tends to flatter, because the search chose by it. So the pipeline
# is fitted anew and measured once on the rows that were put aside, and each constraint gets a bound
# that holds with confidence.

print(model.certificate_)

# %%
# "Certified" means that even the edge of the error keeps to the bound; "feasible (not certified)" that the
# measured value does, but that there are too few rows to be sure. A gap between groups is the
# harder of the two to be sure of: each group has its own error.

# %%
# What the fence costs
# --------------------
# One plot per constraint; crosses break some constraint, not always the one of their plot.

_, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, constraint in zip(axes, model.result_.problem.constraints, strict=True):
    plots.trade_off(model.result_, constraint, ax)
axes[0].set_xscale("log")

# %%
# In words
# --------
# The same text as ``fenceline explain``; ``write_report(model, "report.html")`` makes a page of it.

print(explain(model))
