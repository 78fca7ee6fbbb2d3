"""What is to be asked again in a study: trials that a person wants repeated, and those that confirm its answer."""

from collections.abc import Sequence

from orchestrator.campaign.study import Confirm
from orchestrator.engine.events import ConfirmationAsked, Observation, Request
from orchestrator.trial_records import Row
from rcgp import Ruling as Verdict

CANDIDATES = 3
MEANING: dict[str, Verdict | None] = {"lie": "lie", "true": "true", "clear": None}
"""What the model is told of a ruling; to run a trial again says nothing of its value."""


def unfit(request: Request, rows: Sequence[Row]) -> str:
    """Why a request cannot be obeyed; empty if it can."""
    if isinstance(request, ConfirmationAsked):
        return ""
    row = next((row for row in rows if row.number == request.number), None)
    if row is None:
        return f"trial {request.number} has not come back, so there is nothing to rule on."
    if request.ruling == "true" and not row.finite:
        return f"trial {request.number} reported no finite number, which cannot be true: rule it a lie."
    return ""


class Repeats:
    """The repetitions that a study owes: those of `confirm` among its last trials, and those asked for on top of them."""

    def __init__(self, confirm: Confirm | None) -> None:
        self._confirmations = 0 if confirm is None else confirm.trials
        self.candidates = CANDIDATES if confirm is None else confirm.candidates
        """Among how many the answer is confirmed."""
        self.extra = 0
        """Trials beyond those of the study's own plan."""
        self._again: list[int] = []
        self._heard: set[str] = set()
        self._runs: dict[int, tuple[int, str]] = {}
        """The first run of the same point, and the node, of every trial that came back."""
        self._doubted: set[int] = set()

    def heard(self, request: Request) -> bool:
        """Whether the study knows of it."""
        return request.id in self._heard

    def take(self, request: Request) -> None:
        """Learn what was asked."""
        self._heard.add(request.id)
        self.extra += request.extra
        if isinstance(request, ConfirmationAsked):
            self._confirmations, self.candidates = self._confirmations + request.trials, request.candidates
        elif request.ruling == "again":
            self._again.append(request.number)
            self._doubted.add(request.number)

    def settle(self, replicate_of: int | None) -> None:
        """A repetition of that trial was started; who wanted it may have named a later run of the same point."""
        met = next((number for number in self._again if self._runs.get(number, (number,))[0] == replicate_of), None)
        if met is not None:
            self._again.remove(met)

    def wanted(self) -> int | None:
        """The trial that a person wants repeated next."""
        return next(iter(self._again), None)

    def confirms(self, left: int) -> bool:
        """Whether the next of the `left` trials is one that confirms the answer."""
        return 0 < left <= self._confirmations

    def note(self, observation: Observation) -> None:
        """Remember where a trial ran."""
        first = observation.number if observation.replicate_of is None else observation.replicate_of
        self._runs[observation.number] = first, observation.node

    def ran_on(self, first: int | None) -> tuple[str, ...]:
        """The nodes where a trial and its repetitions ran; first those whose report a person doubts, who are asked last."""
        if first is None:  # most trials repeat nothing, and there may be thousands of them
            return ()
        runs = [number for number, (point, node) in self._runs.items() if point == first and node]
        runs.sort(key=lambda number: number not in self._doubted)
        return tuple(dict.fromkeys(self._runs[number][1] for number in runs))
