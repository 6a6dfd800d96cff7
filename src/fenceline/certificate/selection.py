"""Which of what is inside the fence are tested on unseen rows, in which order, and what is measured besides."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fenceline.certificate.candidates import Growth, Rooms, options, typical_errors
from fenceline.certificate.refits import GRACE_SECONDS, Fitted, Refits, seconds_of_fit
from fenceline.certificate.sequence import Option, fixed_sequence, walk
from fenceline.certificate.terms import JOINT_CANDIDATES, Terms
from fenceline.pipelines.ensemble import Candidate

LOOKS = 3
"""How many are measured where none is certified, to find one that is inside on unseen rows, too."""
SAFE_ERRORS = 1.0
"""Standard errors inside the fence, by all rows together, that count as safe where nothing is certified: five in six
such models are inside. Beyond that, certainty that no certificate can give is not worth a weaker model."""
FAILED_BEFORE = "a safer pipeline was not confirmed, and the sequence of tests ended there"
FOR_COMPARISON = "measured for comparison, after the sequence of tests had ended"


@dataclass(frozen=True)
class Selection:
    """Orders options by what the rows of the search say, and tests them."""

    terms: Terms

    def first_of(self, refits: Refits, line: Sequence[Option]) -> None:
        """Test the first that can be fitted, and no other.

        Without unseen rows, one that has outgrown its bound makes room for the next: no label told so.
        """
        for option in line:
            refits.certified(option)
            if refits.tried and (self.terms.unseen.size or not refits.outgrown):
                return

    def together(self, refits: Refits, inside: Sequence[Option]) -> None:
        """Test a few, each at its share of the risk, so that all their bounds hold together."""
        sequence = self._planned(inside, from_safest=False)
        refits.planned = JOINT_CANDIDATES
        places = np.linspace(0, len(sequence) - 1, JOINT_CANDIDATES).round().astype(int)
        for place in sorted(set(places.tolist())):
            refits.certified(sequence[place])

    def from_safe_to_bold(
        self, refits: Refits, candidates: Sequence[Candidate], inside: Sequence[Option]
    ) -> None:
        """Test a fixed sequence until one fails, then measure what else is worth knowing."""
        _ = refits.controls  # before the time that is left is planned
        walk(self._line(refits, candidates, inside), refits.certified)
        passed = [fitted.option for fitted in refits.tried if fitted.stands]
        if not passed:
            self._without_certificate(refits, inside)
            return
        left = [option for option in inside if _known(refits, option) is None]
        # What certainty has cost is told with the best by the folds beside it.
        best = min(left, key=lambda o: o.worth, default=None)
        if best is not None and best.worth < min(o.worth for o in passed):
            refits.look(best, FOR_COMPARISON)

    def _without_certificate(self, refits: Refits, inside: Sequence[Option]) -> None:
        """Measure the best that is likely to be safe, then safer ones until one is so on unseen rows, too."""
        for errors in (self._safe, 2 * self._safe, math.inf):
            left = [option for option in inside if not self._given_up(refits, option)]
            if not left:
                break
            enough = [option for option in left if option.room >= errors]
            best = min(enough, key=lambda o: o.worth) if enough else max(left, key=_safest)
            known = _known(refits, best)
            if known is None and len(refits.tried) < LOOKS:
                refits.look(best, FAILED_BEFORE)
                known = _known(refits, best)
            if known is not None and _is_safe(known):
                return
        if not refits.tried:
            self.first_of(refits, sorted(inside, key=_safest, reverse=True))

    @staticmethod
    def _given_up(refits: Refits, option: Option) -> bool:
        """Tell whether an option could not be fitted, or is known not to be safe on unseen rows."""
        known = _known(refits, option)
        return refits.failed(option) or (known is not None and not _is_safe(known))

    def _line(
        self, refits: Refits, candidates: Sequence[Candidate], inside: Sequence[Option]
    ) -> Iterator[Option]:
        """Yield what to test next; when one has outgrown its bound, the others leave room for as much.

        The order may depend on time, size and memory, for these do not depend on labels.
        """
        left = list(inside)
        while left:
            sequence = self._planned(left)
            refits.planned = len(sequence)
            for option in sequence:
                yield option
                if refits.outgrown:
                    break
            else:
                return
            tried = {fitted.option.key for fitted in refits.tried}
            gains = {option.key: option.gain for option in inside if option.key not in tried}
            passed = [fitted.option.worth for fitted in refits.tried if fitted.rank == 0]
            best = min(passed, default=(math.inf, math.inf))
            left = [
                replace(option, gain=gains[option.key])
                for option in self.options(candidates, refits.growth)
                if option.key in gains and option.worth < best
            ]

    def _planned(self, inside: Sequence[Option], from_safest: bool = True) -> list[Option]:
        return fixed_sequence(
            inside,
            fit_seconds=lambda candidate: seconds_of_fit(candidate, self.terms.measure),
            seconds=self.terms.deadline + GRACE_SECONDS - time.monotonic(),
            from_safest=from_safest,
        )

    @property
    def _safe(self) -> float:
        """The room, in errors of the unseen rows, that is safe enough by the errors of all rows together."""
        search, unseen = self.terms.search.size, self.terms.unseen.size
        return SAFE_ERRORS * math.sqrt(unseen / (search + unseen))

    def options(self, candidates: Sequence[Candidate], growth: Growth) -> list[Option]:
        """Return candidates at all their thresholds, with the room that they have.

        Parameters
        ----------
        candidates : sequence of Candidate
            As the folds measured them.
        growth : mapping of str to float
            How much time, size or memory grows when a pipeline is fitted on all rows.
        """
        terms = self.terms
        rooms = Rooms(
            terms.problem,
            terms.measure.metrics,
            (terms.search.size, terms.unseen.size),
            terms.risk,
            typical_errors(terms.problem, candidates),
            growth,
            terms.controlled,
        )
        most = max((c.folds or 1 for c in candidates), default=1)
        return [option for c in candidates for option in options(c, rooms, most)]


def _is_safe(fitted: Fitted) -> bool:
    """Tell whether one that is not certified is safe enough to look no further."""
    return fitted.safety >= SAFE_ERRORS and not fitted.faded


def _known(refits: Refits, option: Option) -> Fitted | None:
    """Return what unseen rows say of an option, if it was tested or measured."""
    return next((f for f in refits.tried if f.option.key == option.key), None)


def _safest(option: Option) -> tuple[float, float, float]:
    return option.room, -option.objective, -option.merit
