"""The bookkeeping of trials that every front end shares: Tune's searcher, campaigns, whoever asks an optimizer for points.

A suggested trial has a number, and is in exactly one place:

    start --> pending --> complete --> completed                 final: what comes later is late, and changes nothing
                 |------> fail ------> failed ---> complete      a retry that succeeds takes the place of the failure
                 |------> withdraw --> nowhere: nothing was learned

The optimizer learns of the trials that ended when it is asked, in the order of their arrival. All values are maximised.
"""

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from orchestrator.plain import Json, from_plain, to_plain
from rcgp import SUSPECT_WEIGHT, Optimizer

log = logging.getLogger(__name__)

Array = npt.NDArray[np.float64]
Point = tuple[float, ...]
Status = Literal["completed", "failed"]
FailureRule = Literal["pessimistic", "ignore"] | float
SAME = 1e-9
"""Two points closer than this in every coordinate are one."""


@dataclass(frozen=True)
class Suggestion:
    """A point to try; `model_failure` says why it is quasi-random where the model could not suggest one."""

    x: Point
    model_failure: str = ""


@dataclass(frozen=True)
class Trial:
    """A suggested trial that has not ended."""

    number: int
    x: Point
    trial_id: str | None = None
    """What the front end calls it."""
    attempt: int = 0
    last_report: float | None = None
    rows_at_last_sign: int = 0
    """How many rows there were when it was last heard of."""
    model_failure: str = ""


@dataclass(frozen=True)
class Row:
    """What came of one trial: `y` is what it reported, NaN if it failed. One that ran elsewhere has no number."""

    number: int | None
    x: Point
    y: float
    status: Status
    trial_id: str | None = None

    @property
    def finite(self) -> bool:
        """Whether it says anything about the scale of the objective."""
        return self.status == "completed" and math.isfinite(self.y)


@dataclass(frozen=True)
class ModelFailure:
    """A suggestion that the model could not make; a quasi-random point took its place."""

    number: int
    error: str


class Trials:
    """Trials by number, their rows in the order of arrival, and the optimizer that learns from them.

    `optimizer` and `fallback` make fresh ones; the fallback suggests where the model fails. `failure_value` is what a failed
    trial is worth: "pessimistic" is the worst believed value when it arrived, which the weights may disbelieve
    in turn; "ignore" makes it a row without influence; a number is its value. With `forget_after`, a pending trial stops
    shaping suggestions once that many times the trials in flight ended without a sign of it.
    """

    def __init__(
        self,
        optimizer: Callable[[], Optimizer],
        fallback: Callable[[], Optimizer],
        *,
        failure_value: FailureRule = "pessimistic",
        forget_after: int | None = None,
    ) -> None:
        self._make_optimizer, self._make_fallback = optimizer, fallback
        self._failure_value, self._forget_after = failure_value, forget_after
        self.optimizer = optimizer()
        self._rows: list[Row] = []
        self._pending: dict[int, Trial] = {}
        self._numbers: dict[str, int] = {}
        self._started = 0
        self._outdated = False
        self.model_failures: list[ModelFailure] = []

    # Looking

    @property
    def rows(self) -> tuple[Row, ...]:
        """Every trial that ended, in the order of arrival."""
        return tuple(self._rows)

    @property
    def pending(self) -> dict[int, Trial]:
        """The suggested trials that have not ended, by number."""
        return dict(self._pending)

    @property
    def started(self) -> int:
        """How many trials were suggested: the number of the next one."""
        return self._started

    def number_of(self, trial_id: str) -> int | None:
        """The trial that the front end calls, or once called, by that name."""
        return self._numbers.get(trial_id)

    def unfinished_at(self, x: Point) -> int | None:
        """The pending, else the failed trial at that point, if there is one."""
        pending = [(trial.number, trial.x) for trial in self._pending.values()]
        failed = [(row.number, row.x) for row in self._rows if row.status == "failed" and row.number is not None]
        here = (number for number, point in [*pending, *failed] if np.allclose(point, x, rtol=0.0, atol=SAME))
        return next(here, None)

    def in_flight(self) -> list[Trial]:
        """The pending trials but those that were forgotten: whoever runs them may never report again."""
        if self._forget_after is None:
            return list(self._pending.values())
        limit = self._forget_after * max(1, len(self._pending))
        return [trial for trial in self._pending.values() if len(self._rows) - trial.rows_at_last_sign <= limit]

    # Asking

    def ask(self) -> Suggestion:
        """The next point to try: the model's or, if the model fails, a quasi-random one."""
        return self.answer(self.question())

    def question(self) -> Callable[[], Suggestion]:
        """The call that asks the optimizer, which knows all rows by now; to be made here or in another thread."""
        self.tell()
        optimizer = self.optimizer
        untold = [row.x for row in self._rows[optimizer.n :]]
        waiting = _stacked([*untold, *(trial.x for trial in self.in_flight())])

        def ask() -> Suggestion:
            failures = optimizer.failures
            x = optimizer.ask(waiting)
            return Suggestion(_point(x), "no suggestion from the model" if optimizer.failures > failures else "")

        return ask

    def answer(self, ask: Callable[[], Suggestion]) -> Suggestion:
        """What `ask` gives; a model that fails stops no search, its reason is kept and a quasi-random point taken."""
        try:
            return ask()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"[:300]
            log.warning("Trial %d gets a quasi-random point: the model failed.", self._started, exc_info=error)
            return Suggestion(self.quasi_random(), reason)

    def quasi_random(self) -> Point:
        """A point that needs no model."""
        known = [*(row.x for row in self._rows), *(trial.x for trial in self._pending.values())]
        return _point(self._make_fallback().ask(_stacked(known)))

    # What happens to a trial

    def start(self, suggestion: Suggestion, trial_id: str | None = None) -> Trial:
        """The next trial in order, at the suggested point."""
        number, self._started = self._started, self._started + 1
        if suggestion.model_failure:
            self.model_failures.append(ModelFailure(number, suggestion.model_failure))
        trial = Trial(
            number,
            suggestion.x,
            trial_id,
            rows_at_last_sign=len(self._rows),
            model_failure=suggestion.model_failure,
        )
        self._pending[number] = trial
        if trial_id is not None:
            self._numbers[trial_id] = number
        return trial

    def rename(self, number: int, trial_id: str) -> None:
        """The front end goes on with this trial under another name."""
        self._numbers[trial_id] = number
        if number in self._pending:
            self._pending[number] = replace(self._pending[number], trial_id=trial_id)
        else:
            self._rows = [replace(row, trial_id=trial_id) if row.number == number else row for row in self._rows]

    def report(self, number: int, value: float | None) -> bool:
        """A pending trial gave a sign of life and, if not None, a value on its way; False if it is not pending."""
        trial = self._pending.get(number)
        if trial is None:
            return False
        kept = trial.last_report if value is None else value
        self._pending[number] = replace(trial, rows_at_last_sign=len(self._rows), last_report=kept)
        return True

    def retry(self, number: int) -> Trial:
        """Another attempt at a pending trial begins."""
        trial = self._pending[number]
        self._pending[number] = replace(trial, attempt=trial.attempt + 1, last_report=None)
        return self._pending[number]

    def complete(self, number: int, y: float) -> bool:
        """The trial ended with a value, infinite and NaN included; False, and nothing changes, if it had completed before."""
        trial = self._pending.pop(number, None) or self._take_back_failure(number)
        if trial is None:
            return False
        self._rows.append(Row(number, trial.x, float(y), "completed", trial.trial_id))
        return True

    def fail(self, number: int) -> bool:
        """The trial failed for good, perhaps once more; False, and nothing changes, if it had ended otherwise."""
        trial = self._pending.pop(number, None)
        if trial is None:
            return any(row.number == number and row.status == "failed" for row in self._rows)
        self._rows.append(Row(number, trial.x, math.nan, "failed", trial.trial_id))
        return True

    def withdraw(self, number: int) -> bool:
        """The trial will not be run, and taught nothing; False if it was not pending."""
        return self._pending.pop(number, None) is not None

    def record(self, x: Point, y: float | None) -> None:
        """A trial that ran elsewhere reported `y`, or failed (None)."""
        self._rows.append(Row(None, x, math.nan, "failed") if y is None else Row(None, x, y, "completed"))

    def _take_back_failure(self, number: int) -> Row | None:
        """The failed row of that trial, no longer among the rows; an optimizer that knows it has to begin anew."""
        for index, row in enumerate(self._rows):
            if row.number == number and row.status == "failed":
                self._outdated = self._outdated or index < self.optimizer.n
                return self._rows.pop(index)
        return None

    # What the optimizer knows

    def tell(self) -> None:
        """Tell the optimizer of the rows that are new to it, once there is any finite value to start from."""
        if self._outdated:
            self.tell_anew()
        for row in self._untold():
            self.optimizer.tell(np.array(row.x), self._worth(row))

    def tell_anew(self) -> None:
        """Tell a fresh optimizer everything, little by little.

        Told all at once, several lies vouch for each other; one after the other they are seen, as if they had been lived.
        """
        self.optimizer, self._outdated = self._make_optimizer(), False
        for row in self._untold():
            self.optimizer.tell(np.array(row.x), self._worth(row))
            if is_time_to_update(self.optimizer.n):
                self.optimizer.update()

    def recommend(self) -> Row:
        """The row with the highest believed value; the first one while no value is finite."""
        self.tell()
        return self._rows[self.optimizer.recommend() if self.optimizer.n else 0]

    def _untold(self) -> Iterable[Row]:
        return self._rows[self.optimizer.n :] if any(row.finite for row in self._rows) else ()

    def _worth(self, row: Row) -> float:
        """What the optimizer is told: the report, or what a failure is worth."""
        if row.status == "completed" or self._failure_value == "ignore":
            return row.y
        if self._failure_value != "pessimistic":
            return float(self._failure_value)
        # what had arrived by then, so that looking in between, which tells rows sooner, changes nothing
        first = next(index for index, known in enumerate(self._rows) if known.finite)
        arrived = self._rows[: max(first, self.optimizer.n) + 1]
        weights = np.ones(len(arrived))
        weights[: self.optimizer.n] = self.optimizer.committed_weights()[: len(arrived)]
        known = [(weight, r.y) for weight, r in zip(weights, arrived, strict=True) if r.finite]
        return min([y for weight, y in known if weight >= SUSPECT_WEIGHT] or [y for _, y in known])

    # To and from strict JSON

    def state_dict(self) -> Json:
        """Everything, as strict JSON."""
        return {
            "rows": [_to_json(row) for row in self._rows],
            "pending": [_to_json(trial) for trial in self._pending.values()],
            "numbers": dict(self._numbers),
            "started": self._started,
            "outdated": self._outdated,
            "model_failures": [asdict(failure) for failure in self.model_failures],
            "optimizer": self.optimizer.state_dict(),
        }

    def load_state_dict(self, state: Json) -> None:
        """Become what `state_dict` described."""
        self._rows = [Row(**_from_json(data)) for data in state["rows"]]
        self._pending = {data["number"]: Trial(**_from_json(data)) for data in state["pending"]}
        self._numbers, self._started = dict(state["numbers"]), state["started"]
        self._outdated = state["outdated"]
        self.model_failures = [ModelFailure(**data) for data in state["model_failures"]]
        self.optimizer = self._make_optimizer()
        self.optimizer.load_state_dict(state["optimizer"])


def is_time_to_update(told: int) -> bool:
    """Whether to update a model after so many earlier results: with each of the first fifty, then in growing pieces."""
    return told % max(1, told // 25) == 0


def _point(x: Array) -> Point:
    return tuple(map(float, x))


def _stacked(points: Sequence[Point]) -> Array | None:
    """The points as rows, `m x d`; None if there are none."""
    return np.array(points) if points else None


def _to_json(record: Row | Trial) -> Json:
    return {key: list(value) if key == "x" else to_plain(value) for key, value in vars(record).items()}


def _from_json(data: Json) -> Json:
    return {key: tuple(value) if key == "x" else from_plain(value) for key, value in data.items()}
