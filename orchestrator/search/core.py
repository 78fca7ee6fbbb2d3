"""A search in one space towards one goal, in the words of its users: trial ids, configurations, reports."""

from collections.abc import Sequence
from functools import partial

from orchestrator.failures import Failures
from orchestrator.plain import Json, from_plain, to_plain
from orchestrator.search import trust
from orchestrator.search.background import BackgroundCall
from orchestrator.search.records import BestTrial, JudgedTrial, SuspectTrial, maximised
from orchestrator.search.saved import KnownTrial
from orchestrator.search.settings import Settings
from orchestrator.search.space import AnyConfig, Config, TuneSpace
from orchestrator.search.verdicts import Verdicts
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
            partial(settings.optimizer, space.cube),
            partial(settings.fallback, space.cube),
            failure_value=settings.failure_value(sign),
            forget_after=FORGET_AFTER,
            budget=settings.max_resource,
        )
        self.queue: list[Config] = []
        """What people want to be tried first: values by name, perhaps not all of them."""
        self.verdicts = Verdicts(self.trials, settings.confirm)
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
        suggestion = self.verdicts.repetition() or self._next_suggestion()
        if suggestion is None:
            return None
        self._warned = trust.many_doubted(self.trials, self._settings.suspect_share, warned=self._warned)
        return self.space.values(self.trials.start(suggestion, trial_id).x)

    def _start_queued(self, trial_id: str) -> Config:
        """What a person wants tried; values that are left open are quasi-random."""
        values = self.space.filled_up(self.queue.pop(0), self.trials.quasi_random())
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

    def report(self, number: int, value: float | None, resource: float | None, config: AnyConfig) -> None:
        """A trial on its way gave a sign of life, perhaps with a value, perhaps saying how far it got."""
        self._refuse_another_configuration(number, config)
        self.trials.report(number, value)
        if value is not None and resource is not None:
            self.trials.climb(number, resource, self._sign * value)

    def _refuse_another_configuration(self, number: int, config: AnyConfig) -> None:
        """A trial is learned from as one configuration: refuse schedulers that change it on the way."""
        trial = self.trials.pending.get(number)
        if trial is not None and config and not self.space.is_at(config, trial.x):
            raise ValueError(
                f"Trial {trial.trial_id} changed its configuration on the way, as population based training does, and RCGPSearch "
                "learns one configuration a trial: use PBT without a search_alg, or RCGPSearch with ASHAScheduler."
            )

    def end(
        self,
        number: int,
        value: float | None,
        resource: float | None = None,
        *,
        standard_error: float | None = None,
        reporter: str | None = None,
    ) -> bool:
        """The trial ended with this report, from that machine, with so much of its resource spent; False if it had ended before.

        Who ends after a report that was heard ended of itself; who is stopped is stopped by the report that comes with the end.
        """
        y = maximised(value, self._sign)
        if y is None:
            return self.trials.fail(number, reporter=reporter)
        trial = self.trials.pending.get(number)
        of_itself = resource is None or trial is None or bool(trial.rungs and trial.rungs[-1][0] >= resource)
        if resource is not None:
            self.trials.climb(number, resource, y)
        return self.trials.complete(number, y, standard_error=standard_error, reporter=reporter, whole=of_itself)

    def promise(self, number: int, value: float, resource: float) -> float:
        """The probability that a trial on its way, which just reported this, would end best of all."""
        self._finish_background()
        return self.trials.promise(number, resource, self._sign * value)

    def record(self, x: Point, value: float | None) -> None:
        """A trial that ran elsewhere reported this."""
        self.trials.record(x, maximised(value, self._sign))

    def catch_up(self, known: Sequence[KnownTrial]) -> None:
        """Learn of trials that started or ended after this state was saved; those that nobody knows are not coming back."""
        for trial in known:
            if trial.x is not None:
                number = self._known_as(trial.trial_id, trial.x)
                if trial.ended and number in self.trials.pending:
                    self.end(number, trial.value, trial.resource)
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
        return trust.suspects(self.trials, self.space, self._sign, self.verdicts.because)

    def judgements(self) -> list[JudgedTrial]:
        """Every trial that the model knows, and how far its report is believed."""
        self._finish_background()
        return trust.judgements(self.trials, self.space, self._sign)

    def failures(self) -> Failures | None:
        """How many of the trials failed, and where; None where none did."""
        self._finish_background()
        return trust.failures(self.trials.rows, self.space)

    def best(self, *, robust: bool) -> BestTrial:
        """The trial that the model believes best or, without `robust`, the one that reported the best value."""
        self._finish_background()
        return trust.best(self.trials, self.space, self._sign, robust=robust)

    def _finish_background(self) -> None:
        if self._background is not None:
            self._background.wait()

    def state_dict(self) -> Json:
        """Everything but space, settings and goal, as strict JSON."""
        return {"trials": self.trials.state_dict(), "queue": to_plain(self.queue), "warned": self._warned} | {
            "verdicts": self.verdicts.state_dict()
        }

    def load_state_dict(self, state: Json) -> None:
        """Become what `state_dict` described."""
        self.trials.load_state_dict(state["trials"])
        self.queue, self._warned = from_plain(state["queue"]), state["warned"]
        if "verdicts" in state:
            self.verdicts.load_state_dict(state["verdicts"])
