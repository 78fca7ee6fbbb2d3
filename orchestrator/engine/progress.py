"""The progress of one trial: what its objective reports step by step, and the rungs where it asks whether to go on."""

import time
from collections.abc import Callable

import numpy as np

from orchestrator.halving import Ladder

Stops = Callable[[int, float], bool]
"""Whether a trial that reports this value after so many steps is stopped there."""


class StoppedEarlyError(BaseException):
    """Leaves an objective whose trial is stopped. No `Exception`: those an objective may take for its own."""


class TrialProgress:
    """Takes an objective's reports and asks `stops` at every rung; once it is stopped nothing that follows counts."""

    def __init__(self, ladder: Ladder | None, stops: Stops) -> None:
        self._ladder, self._stops = ladder, stops
        self.reports: list[tuple[int, float]] = []
        self.stopped = False
        self.waited = 0.0
        """Seconds that the questions took."""

    def report(self, step: object, value: object) -> None:
        """One more report; raises if the trial is to end here."""
        if not self.stopped:
            before = max((step for step, _ in self.reports), default=0)
            self.reports.append(_reported(step, value))
            self.stopped = self._is_rung(before) and self._ask(*self.reports[-1])
        if self.stopped:
            raise StoppedEarlyError

    def _is_rung(self, before: int) -> bool:
        return self._ladder is not None and self._ladder.rung(self.reports[-1][0], before) is not None

    def _ask(self, step: int, value: float) -> bool:
        start = time.perf_counter()
        try:
            return self._stops(step, value)
        finally:
            self.waited += time.perf_counter() - start


def measurement(value: object, what: str) -> float:
    """`value` as a float; NaN and infinities are measurements, words and lists are not."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{what} {_shown(value)}, not a number")
    return float(value)


def _reported(step: object, value: object) -> tuple[int, float]:
    """A pair for the curve of a trial, checked where the objective's own traceback can point to it."""
    return int(measurement(step, "report() was given the step")), measurement(value, "report() was given")


def _shown(value: object) -> str:
    try:
        return f"{value!r:.80} ({type(value).__name__})"
    except Exception:  # a repr may be anybody's code
        return f"a {type(value).__name__}"
