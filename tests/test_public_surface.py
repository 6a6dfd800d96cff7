import fenceline

NAMES = """
ADMM Adaptive Algorithm Categorical Choice Configuration Constraint Evaluation
FencelineClassifier FencelineRegressor Fixed Grammar Integer Limits Module Problem Real Result Space
StructuredBO
baselines data forbid load metric metrics minimize order pipelines plots problems report solvers
"""


def test_the_public_names_are_these():
    assert sorted(fenceline.__all__) == NAMES.split()
    assert all(hasattr(fenceline, name) for name in fenceline.__all__)
