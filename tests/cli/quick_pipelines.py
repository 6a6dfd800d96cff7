"""A space of pipelines that fit in no time, as a user would hand it to the command."""

from fenceline import Algorithm, Integer, Module, Real, Space

QUICK = ("--space", "quick_pipelines:space")


def space() -> Space:
    return Space(
        [
            Module("scaler", [Algorithm("none"), Algorithm("StandardScaler")]),
            Module(
                "estimator",
                [
                    Algorithm("GaussianNB"),
                    Algorithm(
                        "sklearn.linear_model.LogisticRegression", {"C": Real(0.01, 10, log=True)}
                    ),
                    Algorithm("sklearn.tree.DecisionTreeClassifier", {"max_depth": Integer(1, 6)}),
                ],
            ),
        ]
    )
