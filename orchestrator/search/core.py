"""A search in one space towards one goal, in the words of its users: trial ids, configurations, reports."""

import math
from collections.abc import Sequence
from functools import partial

from orchestrator.plain import Json, from_plain, to_plain
from orchestrator.search import trust
from orchestrator.search.background import BackgroundCall
from orchestrator.search.records import BestTrial, SuspectTrial
from orchestrator.search.saved import KnownTrial
from orchestrator.search.settings import Settings
from orchestrator.search.space import AnyConfig, Config, TuneSpace
from orchestrator.trials import Point, Suggestion, Trials

FORGET_AFTER = 10
"""A pending trial is forgotten when this many times the trials in flight ended without a sign of it."""
POLL_SECONDS = 0.05
"""How long the caller is held up for a suggestion that is being computed in the background."""


class Search:
    """Suggests configurations and learns from reports. `sign` is -1 where the metric is minimised."""

    def __init__(self, space: TuneSpace, settings: Settings, sign: float) -> None:
        self.space, self._settings, self._sign = space, settings, sign
        self.trials = Trials(
            partial(settings.optimizer, space.dim, len(space.dimensions), space.project),
            partial(settings.fallback, space.dim, space.project),
            failure_value=settings.failure_value(sign),
            forget_after=FORGET_AFTER,
        )
        self.queue: list[Config] = []
        """What people want to be tried first: values by name, perhaps not all of them."""
        self._background: BackgroundCall[Suggestion] | None = None
        self._warned = False

    def __getstate__(self) -> Json:
        """Tune pickles its searchers; a thread stays behind and its point is computed again."""
        return {**self.__dict__, "_background": None}

    # Suggesting

    def suggest(self, trial_id: str) -> Config | None:
        """The values of the next trial by name, or None while they are being computed in the background."""
        number = self.trials.number_of(trial_id)
        if number in self.trials.pending:
            return self.space.values(self.trials.pending[number].x)
        if self.queue:
            return self._start_queued(trial_id)
        suggestion = self._next_suggestion()
        if suggestion is None:
            return None
        self._warned = trust.many_doubted(self.trials, self._settings.suspect_share, warned=self._warned)
        return self.space.values(self.trials.start(suggestion, trial_id).x)

    def _start_queued(self, trial_id: str) -> Config:
        """What a person wants tried; values that are left open are quasi-random."""
        values = self.queue.pop(0)
        if len(values) < len(self.space.dimensions):
            values = {**self.space.values(self.trials.quasi_random()), **values}
        self.trials.start(Suggestion(self.space.locate(values)), trial_id)
        return values

    def _next_suggestion(self) -> Suggestion | None:
        """A point, computed here while that is quick or nobody waits, else in a thread: None until it is there."""
        trials, limit = self.trials, self._settings.background_from
        in_flight = bool(trials.in_flight())
        if self._background is None:
            question = trials.question()
            if not in_flight or limit is None or len(trials.rows) < limit:
                return trials.answer(question)
            self._background = BackgroundCall(question)
        if not self._background.wait(POLL_SECONDS if in_flight else None):
            return None
        call, self._background = self._background, None
        return trials.answer(call.result)

    # Learning

    def number_of(self, trial_id: str, config: AnyConfig) -> int | None:
        """The trial of that id or, for an unknown one, the unfinished trial that it retries: one with that configuration."""
        number = self.trials.number_of(trial_id)
        if number is not None or not config:
            return number
        try:
            number = self.trials.unfinished_at(self.space.locate(config))
        except ValueError:  # a configuration of another space is no retry
            return None
        if number is not None:
            self.trials.rename(number, trial_id)
        return number

    def end(self, number: int, value: float | None) -> bool:
        """The trial ended with this report; False if it had ended before."""
        y = self._usable(value)
        return self.trials.fail(number) if y is None else self.trials.complete(number, y)

    def record(self, x: Point, value: float | None) -> None:
        """A trial that ran elsewhere reported this."""
        self.trials.record(x, self._usable(value))

    def _usable(self, value: float | None) -> float | None:
        """The report, maximised; None if it says that the trial failed. An infinitely good one is a lie, not a failure."""
        y = math.nan if value is None else self._sign * value
        return None if math.isnan(y) or y == -math.inf else y

    def catch_up(self, known: Sequence[KnownTrial]) -> None:
        """Learn of trials that started or ended after this state was saved; those that nobody knows are not coming back."""
        for trial in known:
            if trial.x is not None:
                number = self._known_as(trial.trial_id, trial.x)
                if trial.ended and number in self.trials.pending:
                    self.end(number, trial.value)
        ids = {trial.trial_id for trial in known}
        for pending in self.trials.pending.values():
            if pending.trial_id not in ids:
                self.trials.withdraw(pending.number)

    def _known_as(self, trial_id: str, x: Point) -> int:
        """The trial of that id: one that is known, goes on under that id, or began meanwhile."""
        number = self.trials.number_of(trial_id)
        if number is None:
            number = self.trials.unfinished_at(x)
            if number is None:
                return self.trials.start(Suggestion(x), trial_id).number
            self.trials.rename(number, trial_id)
        return number

    def forget_pending(self) -> None:
        """The trials in flight are not coming back: whoever ran them is gone."""
        for number in self.trials.pending:
            self.trials.withdraw(number)

    # Looking

    def suspects(self) -> list[SuspectTrial]:
        """The trials whose reports are doubted, least believed first."""
        self._finish_background()
        return trust.suspects(self.trials, self.space, self._sign)

    def best(self, *, robust: bool) -> BestTrial:
        """The trial that the model believes best or, without `robust`, the one that reported the best value."""
        self._finish_background()
        return trust.best(self.trials, self.space, self._sign, robust=robust)

    def _finish_background(self) -> None:
        if self._background is not None:
            self._background.wait()

    def state_dict(self) -> Json:
        """Everything but space, settings and goal, as strict JSON."""
        return {"trials": self.trials.state_dict(), "queue": to_plain(self.queue), "warned": self._warned}

    def load_state_dict(self, state: Json) -> None:
        """Become what `state_dict` described."""
        self.trials.load_state_dict(state["trials"])
        self.queue, self._warned = from_plain(state["queue"]), state["warned"]
