"""Published conformance suites: subclass one, name your class, and inherit its tests. Needs pytest."""

import pytest

# The suites' asserts then explain themselves in a contributor's own repository too.
for suite in ("solvers", "algorithms", "faults"):
    pytest.register_assert_rewrite(f"fenceline.testing.{suite}")

from fenceline.testing.algorithms import AlgorithmSuite  # noqa: E402
from fenceline.testing.faults import EngineFaultSuite  # noqa: E402
from fenceline.testing.solvers import FakeSubproblem, SolverSuite  # noqa: E402

__all__ = ["AlgorithmSuite", "EngineFaultSuite", "FakeSubproblem", "SolverSuite"]
