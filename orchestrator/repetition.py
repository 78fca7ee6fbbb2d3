"""Trials that are asked again: at the point of an earlier one, and marked as its replicate."""

from collections.abc import Sequence

import numpy as np

from orchestrator.trial_records import Row, Suggestion
from orchestrator.trials import Trials


def again(rows: Sequence[Row], number: int) -> Suggestion:
    """The point of an earlier trial, as a replicate of its first run."""
    row = next(row for row in rows if row.number == number)
    return Suggestion(row.x, replicate_of=number if row.replicate_of is None else row.replicate_of)


def confirmation(trials: Trials, candidates: int, *, once: bool = False) -> Suggestion | None:
    """What to repeat so that the answer is right, among that many candidates for it; None before there is any.

    With `once` it is the answer itself, if that was run only once.
    """
    trials.tell()
    rows = trials.rows[: trials.optimizer.n]
    waiting = np.array([trial.x for trial in trials.in_flight()])
    index = trials.optimizer.to_confirm(candidates, waiting, once=once) if rows else None
    if index is None:
        return None
    number = rows[index].number
    return Suggestion(rows[index].x) if number is None else again(rows, number)
