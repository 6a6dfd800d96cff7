"""
A small model for an embedded target
====================================

A microcontroller has little room for a model. The digits of scikit-learn (8 x 8 pixels) are to
be read as well as possible by a model of at most six kilobytes, and the same search without the fence
shows what the room costs.
"""

import pickle

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from fenceline import FencelineClassifier, Integer, metrics, plots
from fenceline.pipelines import named_space, only, restrict

X, digit = load_digits(return_X_y=True)
names = ["LogisticRegression", "DecisionTree", "KNeighbors", "ExtraTrees"]
space = only(named_space("default", "multiclass"), "estimator", *names)
space = restrict(space, "estimator", "ExtraTrees", n_estimators=Integer(10, 50))


def search(constraints):
    """Search a small space with a small budget."""
    model = FencelineClassifier(
        objective="accuracy",
        constraints=constraints,
        space=space,
        evaluations=40,
        cv=0.3,
        random_state=0,
    )
    return model.fit(X, digit)


# %%
# With and without the fence
# --------------------------
# ``size_mb`` is the size of the pickled pipeline, preparation included, in 10^6 bytes.

fenced = search([metrics.size_mb() <= 0.006])
free = search([])
print(fenced.best_configuration_)
print(free.best_configuration_)

# %%
# A search without constraints measures no sizes, so the free model is weighed here.

for name, model in {"inside 6 kB": fenced, "no fence": free}.items():
    kilobytes = len(pickle.dumps(model.best_pipeline_, protocol=5)) / 1e3
    loss = model.best_metrics_["loss(accuracy)"]
    print(f"{name:12} {kilobytes:8.1f} kB   error rate {loss:.3f}")

# %%
# Every byte counts here: what the pipeline is made of, and how many pixels it looks at. A size has no
# sampling error, so its certificate is exact:

print(fenced.certificate_)

# %%
# Fenceline measures the objective also outside the fence: that is how it learns where the fence is.

_, ax = plt.subplots(layout="constrained")
plots.trade_off(fenced.result_, "size_mb", ax)
ax.set(xscale="log", title="Error rate against size")
