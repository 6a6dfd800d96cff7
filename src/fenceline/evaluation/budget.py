"""What a run may spend: evaluations, of which a look at some of the rows is a part, and seconds."""

import math
import time


class Budget:
    """Counts what a run spends; it begins when it is made."""

    def __init__(self, evaluations: int | None, seconds: float | None) -> None:
        self.started = time.perf_counter()
        self.spent = 0.0
        """Evaluations; a look counts as its share of the rows."""
        self._evaluations = math.inf if evaluations is None else evaluations
        self._deadline = math.inf if seconds is None else self.started + seconds
        self.reserved = 0.0
        """Seconds that the run leaves for what is done with its answer."""
        # Who counts evaluations wants the same run again, and no clock can give that.
        self._clocked = evaluations is None and seconds is not None

    @property
    def measured_out(self) -> bool:
        """Whether no evaluation is left."""
        return self.spent >= self._evaluations

    @property
    def timed_out(self) -> bool:
        """Whether no time is left."""
        return self.left == 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self.started

    @property
    def left(self) -> float | None:
        """Seconds that are left; None where there is no end to them."""
        if math.isinf(self._deadline):
            return None
        return max(0.0, self._deadline - self.reserved - time.perf_counter())

    @property
    def told(self) -> float | None:
        """Seconds that an algorithm is told to be left; None where evaluations are counted."""
        return None if not self._clocked or self.left is None else round(self.left, 3)
