"""What a run knows so far: every evaluation in order, the last of each pipeline, and the best."""

from fenceline.evaluation.repeats import Doubts
from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.problem import Problem


class Known:
    """Files evaluations, and answers what they say."""

    def __init__(self, problem: Problem) -> None:
        self.history: list[Evaluation] = []
        self.doubts = Doubts(problem)
        self.best: Evaluation | None = None
        self.feasible = 0
        self._full: dict[Configuration, Evaluation] = {}
        self._looks: dict[tuple[Configuration, float], Evaluation] = {}

    @property
    def looks(self) -> int:
        """How many cheap looks there were, with a part of the rows."""
        return len(self._looks)

    def of(self, configuration: Configuration, fidelity: float = 1.0) -> Evaluation | None:
        """Return the evaluation of a configuration at a fidelity, if there is one."""
        if fidelity == 1.0:
            return self._full.get(configuration)
        return self._looks.get((configuration, fidelity))

    def refuse(self, evaluation: Evaluation) -> None:
        """Keep what was never measured and never will be; it has no place in the history."""
        self._full[evaluation.configuration] = evaluation

    def file(self, evaluation: Evaluation) -> None:
        """Take in what was measured."""
        self.history.append(evaluation)
        configuration = evaluation.configuration
        if evaluation.look:
            self._looks[configuration, evaluation.fidelity] = evaluation
        else:
            self.doubts.file(evaluation)
            if evaluation.ok or configuration not in self._full:
                self._full[configuration] = evaluation
        self.feasible += evaluation.feasible
        if evaluation.feasible and (
            self.best is None or evaluation.objective < self.best.objective
        ):
            self.best = evaluation
