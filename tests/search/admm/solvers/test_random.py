from fenceline.search.admm.solvers import Random
from fenceline.testing import SolverSuite


class TestRandom(SolverSuite):
    solver = Random
