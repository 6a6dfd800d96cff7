"""What candidates are fitted and tested on: a fence, rows, a risk, and the time there is."""

from dataclasses import dataclass

from fenceline.certificate.bounds import risk_of_each
from fenceline.certificate.parts import of_shares
from fenceline.metrics.trial import Rows, Table
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.problem.problem import Problem

JOINT_CANDIDATES = 3
"""How many are tested where all bounds are to hold together; each takes its share of the risk."""


@dataclass(frozen=True)
class Terms:
    """What is the same for all candidates of a search.

    Parameters
    ----------
    problem : Problem
        The objective and the fence.
    measure : CrossValidation
        On the whole table.
    search, unseen : array of int
        The rows to fit on, and those to certify on; there may be none of the latter.
    confidence : float
        Of the certificate.
    deadline : float
        Of :func:`time.monotonic`, when the budget ends.
    joint : bool
        Whether all bounds are to hold together.
    alike : bool
        Whether unseen rows were drawn from those of the search: then the same share of them is to be
        chosen. Later rows, or another table, may hold more or fewer that should be.
    """

    problem: Problem
    measure: CrossValidation
    search: Rows
    unseen: Rows
    confidence: float
    deadline: float
    joint: bool = False
    alike: bool = True

    @property
    def controlled(self) -> bool:
        """Whether controls take luck out of tests: not where all bounds are to hold together, and exactly."""
        bounded = (self.measure.metrics[c.metric] for c in self.problem.constraints)
        told = luck_is_told(self.measure.table, alike=self.alike, joint=self.joint)
        return told and any(map(of_shares, bounded))

    @property
    def risk(self) -> float:
        """How often one test may be wrong: the full risk, or its share where bounds hold together."""
        statements = len(self.problem.constraints) * JOINT_CANDIDATES if self.joint else 1
        return risk_of_each(self.confidence, statements)


def luck_is_told(table: Table, *, alike: bool, joint: bool) -> bool:
    """Tell whether controls may have a part in tests: where unseen rows are like the others, count the same, and bounds need not be exact."""
    return alike and not joint and table.weights is None
