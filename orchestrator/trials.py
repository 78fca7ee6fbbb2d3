"""The bookkeeping of trials that every front end shares: Tune's searcher, campaigns, whoever asks an optimizer for points.

A suggested trial has a number, and is in exactly one place:

    start --> pending --> complete --> completed                 final: what comes later is late, and changes nothing
                 |------> fail ------> failed ---> complete      a retry that succeeds takes the place of the failure
                 |------> withdraw --> nowhere: nothing was learned

The optimizer learns of the trials that ended when it is asked, in the order of their arrival. All values are maximised.
"""

import logging
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.plain import Json
from orchestrator.rungs import largest, told_as, with_report
from orchestrator.trial_records import (
    FailureRule,
    ModelFailure,
    Point,
    Row,
    Suggestion,
    Trial,
    is_time_to_update,
    point_of,
    record_from_json,
    record_to_json,
    stacked,
)
from rcgp import SUSPECT_WEIGHT, Ruling

if TYPE_CHECKING:
    from rcgp import Optimizer

__all__ = ["SAME", "FailureRule", "ModelFailure", "Point", "Row", "Suggestion", "Trial", "Trials"]

log = logging.getLogger(__name__)

SAME = 1e-9
"""Two points closer than this in every coordinate are one."""


class Trials:
    """Trials by number, their rows in the order of arrival, and the optimizer that learns from them.

    `optimizer` and `fallback` make fresh ones; the fallback suggests where the model fails. `failure_value` is what a failed
    trial is worth: "pessimistic" is the worst believed value when it arrived, which the weights may disbelieve
    in turn; "ignore" makes it a row without influence; a number is its value. With `forget_after`, a pending trial stops
    shaping suggestions once that many times the trials in flight ended without a sign of it. `budget` is what a full run takes.
    """

    def __init__(
        self,
        optimizer: "Callable[[], Optimizer]",
        fallback: "Callable[[], Optimizer]",
        *,
        failure_value: FailureRule = "pessimistic",
        forget_after: int | None = None,
        budget: float | None = None,
    ) -> None:
        self.full_budget, self._budget_told = budget, 0.0
        self._make_optimizer, self._make_fallback = optimizer, fallback
        self._failure_value, self._forget_after = failure_value, forget_after
        self.optimizer = optimizer()
        self._rows: list[Row] = []
        self._pending: dict[int, Trial] = {}
        self._numbers: dict[str, int] = {}
        self._first_at: dict[Point, int] = {}
        self._started, self._outdated, self._reached = 0, False, 0.0
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
        optimizer, first_at = self.optimizer, self._first_at
        untold = [row.x for row in self._rows[optimizer.n :]]
        waiting = stacked([*untold, *(trial.x for trial in self.in_flight())])

        def ask() -> Suggestion:
            failures = optimizer.failures
            x = optimizer.ask(waiting)
            why = "no suggestion from the model" if optimizer.failures > failures else ""
            return Suggestion(point_of(x), why, first_at.get(point_of(x)))

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
        return point_of(self._make_fallback().ask(stacked(known)))

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
            replicate_of=suggestion.replicate_of,
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

    @property
    def budget(self) -> float:
        """The resource of a trial that runs in full, as far as it is known; 0 where no trial says what it got."""
        return max(self.full_budget or 0.0, self._reached, largest(trial.rungs for trial in self._pending.values()))

    def climb(self, number: int, resource: float, y: float) -> None:
        """A pending trial reported `y` (maximised) with so much of its resource spent."""
        trial = self._pending.get(number)
        if trial is not None and math.isfinite(y) and resource > 0.0:
            self._pending[number] = replace(trial, rungs=with_report(trial.rungs, resource, y))

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
        self._pending[number] = replace(trial, attempt=trial.attempt + 1, last_report=None, rungs=())
        return self._pending[number]

    def complete(
        self,
        number: int,
        y: float,
        *,
        standard_error: float | None = None,
        reporter: str | None = None,
        whole: bool = True,
    ) -> bool:
        """The trial ended, or was stopped on its way (not `whole`), with any number; False if it had completed before."""
        trial = self._pending.pop(number, None) or self._take_back_failure(number)
        if trial is None:
            return False
        row = Row(number, trial.x, float(y), "completed", trial.trial_id, standard_error, reporter)
        self._add(replace(row, replicate_of=trial.replicate_of, rungs=trial.rungs, whole=whole))
        return True

    def fail(self, number: int, *, reporter: str | None = None) -> bool:
        """The trial failed for good, perhaps once more; False, and nothing changes, if it had ended otherwise."""
        trial = self._pending.pop(number, None)
        if trial is None:
            return any(row.number == number and row.status == "failed" for row in self._rows)
        row = Row(number, trial.x, math.nan, "failed", trial.trial_id, reporter=reporter)
        self._add(replace(row, replicate_of=trial.replicate_of))
        return True

    def rule(self, number: int, ruling: Ruling | None) -> None:
        """A person says that the report of a trial is a lie, or true, whatever the model thinks; None takes that back."""
        index = next((i for i, row in enumerate(self._rows) if row.number == number), None)
        if index is None:
            raise ValueError(f"Trial {number} has not ended: there is no report to rule on.")
        row = self._rows[index]
        if ruling == "true" and not row.finite:
            raise ValueError(f"Trial {number} reported no finite number, which cannot be true: rule it a lie.")
        self._rows[index] = replace(row, ruling=ruling)
        if index < self.optimizer.n:
            self.optimizer.rule(index, ruling)

    def withdraw(self, number: int) -> bool:
        """The trial will not be run, and taught nothing; False if it was not pending."""
        return self._pending.pop(number, None) is not None

    def record(self, x: Point, y: float | None) -> None:
        """A trial that ran elsewhere reported `y`, or failed (None)."""
        self._add(Row(None, x, math.nan, "failed") if y is None else Row(None, x, y, "completed"))

    def _add(self, row: Row) -> None:
        self._rows.append(row)
        self._reached = max(self._reached, largest([row.rungs]))
        if row.number is not None:
            self._first_at.setdefault(row.x, row.number)

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
        if self._outdated or self._shares_changed():
            self.tell_anew()
        self._budget_told = self.budget
        for row in self._untold():
            self._tell(row)

    def _shares_changed(self) -> bool:
        """Whether the optimizer was told of a trial on its way whose share of the budget is another by now."""
        told = self._rows[: self.optimizer.n] if self.budget != self._budget_told else ()
        return any(row.rungs and not row.whole for row in told)

    def _tell(self, row: Row) -> None:
        """Tell the optimizer of the next row, and what a person says of it."""
        y, told = self._worth(row), told_as(row, self.budget)
        self.optimizer.tell(np.array(row.x), y, standard_error=row.standard_error, reporter=row.reporter, **told)
        if row.ruling is not None:
            self.optimizer.rule(self.optimizer.n - 1, row.ruling)

    def tell_anew(self) -> None:
        """Tell a fresh optimizer everything, little by little.

        Told all at once, several lies vouch for each other; one after the other they are seen, as if they had been lived.
        """
        self.optimizer, self._outdated, self._budget_told = self._make_optimizer(), False, self.budget
        for row in self._untold():
            self._tell(row)
            if is_time_to_update(self.optimizer.n):
                self.optimizer.update()

    def promise(self, number: int, resource: float, y: float) -> float:
        """The probability that a pending trial that just reported `y` would end best; 1 while there are no others."""
        self.tell()
        if not self.optimizer.n:
            return 1.0
        trial, budget = self._pending[number], max(self.budget, resource)
        points = [(spent / budget, value) for spent, value in with_report(trial.rungs, resource, y)]
        return self.optimizer.promise(np.array(trial.x), points) if math.isfinite(y) else 0.0

    def recommend(self) -> Row:
        """The row with the highest believed value; the first one while no value is finite."""
        self.tell()
        return self._rows[self.optimizer.recommend() if self.optimizer.n else 0]

    def _untold(self) -> Iterable[Row]:
        return self._rows[self.optimizer.n :] if any(row.finite for row in self._rows) else ()

    def _worth(self, row: Row) -> float:
        """What the optimizer is told: the report, or what a failure is worth."""
        if row.status == "completed" or self._failure_value in ("region", "ignore"):
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

    def state_dict(self) -> Json:
        """Everything, as strict JSON."""
        return {
            "rows": [record_to_json(row) for row in self._rows],
            "pending": [record_to_json(trial) for trial in self._pending.values()],
            "numbers": dict(self._numbers),
            "started": self._started,
            "outdated": self._outdated,
            "budget": [self.full_budget, self._budget_told],
            "model_failures": [asdict(failure) for failure in self.model_failures],
            "optimizer": self.optimizer.state_dict(),
        }

    def load_state_dict(self, state: Json) -> None:
        """Become what `state_dict` described."""
        self._rows, self._first_at, self._reached = [], {}, 0.0
        for data in state["rows"]:
            self._add(Row(**record_from_json(data)))
        self._pending = {data["number"]: Trial(**record_from_json(data)) for data in state["pending"]}
        self._numbers, self._started = dict(state["numbers"]), state["started"]
        self._outdated = state["outdated"]
        self.full_budget, self._budget_told = state.get("budget", (None, 0.0))
        self.model_failures = [ModelFailure(**data) for data in state["model_failures"]]
        self.optimizer = self._make_optimizer()
        self.optimizer.load_state_dict(state["optimizer"])
