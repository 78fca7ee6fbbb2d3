"""What people say of the trials of a search, and which trials are to be run again."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from orchestrator.errors import did_you_mean
from orchestrator.plain import Json
from orchestrator.repetition import again, confirmation
from orchestrator.trials import Suggestion, Trials
from rcgp import Ruling

Verdict = Literal["lie", "true", "again", "clear"]
MEANING: dict[str, Ruling | None] = {"lie": "lie", "true": "true", "clear": None}
CANDIDATES = 3
"""How many could be the answer that the last trials confirm."""
ONE_IN = 10
"""Where nobody says how many trials confirm the answer, one of so many may: it is run again as long as it was run only once."""


@dataclass(frozen=True)
class RuledTrial:
    """What was said of a trial, why and when (seconds since 1970)."""

    number: int
    ruling: str
    because: str
    at: float


class Verdicts:
    """The rulings on the trials of a search, and the trials it owes: `confirm` of them at its end, of `horizon` in all.

    With None a tenth of them may be, if they are needed: where the answer was run twice the search goes on.
    """

    def __init__(self, trials: Trials, confirm: int | None) -> None:
        self._trials, self._confirm = trials, confirm
        self.horizon: int | None = None
        """How many trials there will be; None where nobody knows."""
        self.said: list[RuledTrial] = []
        self._again: list[int] = []

    def rule(self, trial_id: str, ruling: str, because: str) -> None:
        """Obey a person, whatever the model thinks."""
        if ruling not in (*MEANING, "again"):
            raise ValueError(f"ruling {ruling!r}: {did_you_mean(str(ruling), (*MEANING, 'again'))}")
        number = self._trials.number_of(trial_id)
        if number is None or all(row.number != number for row in self._trials.rows):
            raise ValueError(f"Trial {trial_id!r} has not come back: there is no report to rule on.")
        if ruling == "again":
            self._again.append(number)
        else:
            self._trials.rule(number, MEANING[ruling])
        self.said.append(RuledTrial(number, ruling, because, time.time()))

    def because(self, number: int | None) -> str:
        """Why the last ruling on a trial was made; empty where nobody said."""
        return next((ruled.because for ruled in reversed(self.said) if ruled.number == number), "")

    def repetition(self) -> Suggestion | None:
        """The point to run again now, where one is due: what a person wants, or what confirms the answer at the end."""
        if self._again:
            return again(self._trials.rows, self._again.pop(0))
        if self.horizon is None:
            return None
        left, last = self.horizon - self._trials.started, self._confirm
        if not 0 < left <= (self.horizon // ONE_IN if last is None else last):
            return None
        return confirmation(self._trials, CANDIDATES, once=last is None)

    def state_dict(self) -> Json:
        """Everything but the trials, as strict JSON."""
        return {"horizon": self.horizon, "again": list(self._again), "said": [asdict(ruled) for ruled in self.said]}

    def load_state_dict(self, state: Json) -> None:
        """Become what `state_dict` described."""
        self.horizon, self._again = state["horizon"], list(state["again"])
        said: Sequence[Json] = state["said"]
        self.said = [RuledTrial(**ruled) for ruled in said]
