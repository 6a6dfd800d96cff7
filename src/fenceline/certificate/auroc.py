"""The area under the ROC curve with its variance, in closed form (DeLong and others 1988).

https://doi.org/10.2307/2531595; ranks as in Sun and Xu 2014, https://doi.org/10.1109/LSP.2014.2337313.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from fenceline.metrics.fairness import ScoreGap
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.scores import Score
from fenceline.metrics.trial import Rows, Trial


def ranked_rows(metric: PipelineMetric, trial: Trial) -> Sequence[Rows] | None:
    """Return the rows of each part, if the parts are unweighted AUROCs of two classes; else None."""
    if trial.weights is not None or trial.table.task != "binary":
        return None
    if isinstance(metric, ScoreGap) and metric.scorer == "roc_auc":
        codes = trial.grouping(metric.group, metric.bins)[1]
        return [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
    if isinstance(metric, Score) and metric.scorer == "roc_auc":
        return [np.arange(len(trial.rows))]
    return None


def delong(trial: Trial, at: Rows) -> tuple[float, int]:
    """Return the standard error of the AUROC on some rows, and the size of the smaller class."""
    answers = trial.answers
    if hasattr(answers, "decision_function"):
        risk = answers.decision_function(at)
    else:
        risk = answers.predict_proba(at)[:, 1]
    positive = trial.target[at] == 1
    place = rankdata(risk)
    above = _placements(place[positive], risk[positive], int(np.sum(~positive)))
    below = _placements(place[~positive], risk[~positive], int(np.sum(positive)))
    variance = sum(np.var(part, ddof=1) / part.size for part in (above, below))
    return float(np.sqrt(variance)), min(above.size, below.size)


def _placements(
    place: NDArray[np.float64], risk: NDArray[np.float64], others: int
) -> NDArray[np.float64]:
    """Return, for each row of a class, the share of the other class that is ranked below it."""
    return np.asarray((place - rankdata(risk)) / others)
