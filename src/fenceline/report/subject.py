"""What a report is about: a search alone, or the model that came out of one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fenceline.errors import DefinitionError
from fenceline.pipelines.fitting.thresholds import describe_threshold
from fenceline.pipelines.fold_readings import THRESHOLD
from fenceline.pipelines.fold_votes import voters
from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.objective import NamedScore, named
from fenceline.result.margins import Standing, standings
from fenceline.result.result import Result

if TYPE_CHECKING:
    from fenceline.certificate.certify import Certificate
    from fenceline.certificate.inspection import Inspection
    from fenceline.certificate.refits import Finalist
    from fenceline.estimator.describe import DataSummary


@dataclass(frozen=True)
class Subject:
    """A result, and what is known beyond it if an estimator made it."""

    result: Result
    members: Mapping[Configuration, int]
    """The pipeline presented with one vote, or several that vote; empty if nothing was measured."""
    metrics: Mapping[str, float]
    """What the search measured of them."""
    errors: Mapping[str, float] = field(default_factory=dict)
    certificate: "Certificate | None" = None
    pipeline: Any = None
    """The fitted scikit-learn pipeline."""
    finalists: "Sequence[Finalist]" = ()
    """All that were fitted on the rows of the search, and what unseen rows say of them."""
    data: "DataSummary | None" = None
    inspection: "Inspection | None" = None
    """What the model does on rows it has not seen."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the estimator was asked for."""
    running: bool = False
    """Whether the search goes on."""

    @classmethod
    def of(cls, given: Any) -> "Subject":
        """Read a fitted estimator or a result.

        An estimator that ended with :class:`~fenceline.errors.InfeasibleError` counts: its search
        is there, and a report of it says what to loosen.
        """
        result = given if isinstance(given, Result) else getattr(given, "result_", None)
        if not isinstance(result, Result):
            kind = type(given).__name__
            raise DefinitionError(
                f"A report needs a Result or a fitted Fenceline estimator. Got {kind}"
                f"{', which is not fitted; call fit first' if hasattr(given, 'fit') else ''}."
            )
        if given is result or not hasattr(given, "best_pipeline_"):
            # The best, or the nearest miss: the reader is told which of the two.
            shown = result.best or result.nearest_miss
            if shown is None:
                return cls(result, {}, {})
            return cls(result, {shown.configuration: 1}, shown.metrics, shown.errors)
        chosen = given.best_configuration_
        return cls(
            result,
            Counter([chosen] if isinstance(chosen, Configuration) else chosen),
            given.best_metrics_,
            certificate=given.certificate_,
            pipeline=given.best_pipeline_,
            finalists=getattr(given, "finalists_", ()),
            data=getattr(given, "data_", None),  # models saved by older versions have none
            inspection=getattr(given, "inspection_", None),
            settings=given.get_params(deep=False),
        )

    @property
    def objective(self) -> float | None:
        """What the search measured of the pipeline presented; smaller is better."""
        return self.metrics.get(self.result.problem.objective)

    @property
    def score(self) -> NamedScore:
        """The objective as people named it."""
        return named(self.result.problem.objective)

    def delivers(self, finalist: "Finalist") -> bool:
        """Tell whether a finalist is the model."""
        chosen = finalist.configuration
        members = Counter([chosen] if isinstance(chosen, Configuration) else chosen)
        objective = self.metrics.get(self.result.problem.objective)
        same = finalist.threshold, finalist.objective
        return members == self.members and same == (self.metrics.get(THRESHOLD), objective)

    @property
    def threshold(self) -> str | None:
        """Where the model decides between two classes, if that was computed."""
        log_odds = self.metrics.get(THRESHOLD)
        if log_odds is None or self.pipeline is None:
            return None
        return describe_threshold(self.pipeline, log_odds)

    @property
    def fits(self) -> int:
        """How many fits of the one pipeline vote, each made without one fold; 1 if it was fitted once."""
        return voters(self.pipeline) if len(self.members) == 1 else 1

    @property
    def standings(self) -> tuple[Standing, ...]:
        """How the pipeline presented stands to every constraint, as the search measured it."""
        if not self.members:
            return ()
        result = self.result
        return standings(result.problem.constraints, self.metrics, self.errors, result.known_prices)

    def presents(self, evaluation: Evaluation) -> bool:
        """Tell whether an evaluation is of a pipeline presented."""
        return evaluation.ok and not evaluation.look and evaluation.configuration in self.members
