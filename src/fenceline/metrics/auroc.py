"""How each row moves the area under the ROC curve, and so its variance (DeLong and others 1988).

https://doi.org/10.2307/2531595; ranks as in Sun and Xu 2014, https://doi.org/10.1109/LSP.2014.2337313.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from fenceline.metrics.trial import Rows, Trial


def auroc_moves(trial: Trial, at: Rows) -> NDArray[np.float64]:
    """Return by how much each of some rows moves the AUROC on them; the sum of squares is its variance.

    Of two classes, both of which have to be there.
    """
    answers = trial.answers
    if hasattr(answers, "decision_function"):
        risk = answers.decision_function(at)
    else:
        risk = answers.predict_proba(at)[:, 1]
    place, moves = rankdata(risk), np.zeros(len(at))
    for truth, sign in ((1, 1.0), (0, -1.0)):
        own = trial.target[at] == truth
        # The share of the other class that is ranked below each row.
        below = (place[own] - rankdata(risk[own])) / np.sum(~own)
        size = below.size
        moves[own] = sign * (below - below.mean()) / np.sqrt(size * max(1, size - 1))
    return moves
