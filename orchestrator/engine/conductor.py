"""The conductor of a study: its optimizer, driven by its journal. Every event is written before the optimizer learns it."""

import logging
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from objectives import Objective
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_fallback, build_optimizer
from orchestrator.engine.conclusion import Conclusion, conclude_or_highest
from orchestrator.engine.events import (
    AdversaryReported,
    ConfirmationAsked,
    Event,
    Header,
    Observation,
    OptimizerSaved,
    Request,
    Ruling,
    RungReached,
    SessionStarted,
    StudyEnded,
    TrialFailed,
    TrialSuggested,
)
from orchestrator.engine.journal import Journal, check_header, header
from orchestrator.engine.observations import failed_observation, observation_of
from orchestrator.engine.optimizer_state import restore_state, state_without_rows
from orchestrator.engine.repeats import MEANING, Repeats, unfit
from orchestrator.engine.stopping import Stopping, full_resource
from orchestrator.engine.trial import REASON_LENGTH, Evaluation, Try
from orchestrator.repetition import again, confirmation
from orchestrator.rungs import rungs_of
from orchestrator.trials import Suggestion, Trial, Trials

if TYPE_CHECKING:
    from rcgp import Optimizer

log = logging.getLogger(__name__)

STATE_LAYOUT = 5
"""Changes with what an optimizer's `state_dict` holds and with the default rules behind it: a state of another layout is not
read but computed again."""
SAVE_EVERY = 5
"""Trials between two saved states, or a twentieth of all once that is more: a resume computes no more than that again."""

RECOMMEND_SHARE = 100
"""What would be handed over is asked after every trial and, past twice this many, after every hundredth part of them."""


class Conductor:
    """Hands out trials and takes in results, for one engine or another.

    Opening a journal with a past replays it: tells and updates in their order rebuild the optimizer exactly, without
    paying for acquisition, and from the last saved state on. Trials that were suggested and never settled are handed
    out again, the same points.
    """

    def __init__(self, study: Study, objective: Objective, journal: Journal, *, shared: bool = False) -> None:
        self.study, self.objective, self.journal = study, objective, journal
        self._shared = shared
        """Whether other processes learn of a suggestion: if not, a lost one is asked again and is the same."""
        self._trials = Trials(
            partial(build_optimizer, study, objective),
            partial(build_fallback, study, objective),
            failure_value="ignore" if study.crash_value is None else study.crash_value,
            budget=full_resource(study, objective),
        )
        self._stopping = Stopping(study, objective)
        self._evaluating: set[int] = set()
        self._repeats = Repeats(study.confirm)
        self._weights: dict[int, float] = {}
        self._reports: dict[int, AdversaryReported] = {}
        self._saved = 0
        """How many observations the last saved state knew."""
        self._ended = False
        if not journal.events:
            journal.append(header(study))
        self._replay_all(journal.events)

    @property
    def optimizer(self) -> "Optimizer":
        """Who suggests, knowing every trial that came back."""
        self._trials.tell()
        return self._trials.optimizer

    @property
    def finished(self) -> bool:
        """Whether every trial is settled."""
        return len(self._trials.rows) == self.total

    @property
    def total(self) -> int:
        """All trials, those included that people asked for."""
        return self.study.total + self._repeats.extra

    @property
    def running(self) -> int:
        """How many trials are under evaluation."""
        return len(self._evaluating)

    def begin(self, node: str, pid: int) -> None:
        """Note that a process takes the study up, and hear what was asked of it meanwhile: it may have more to do."""
        self.journal.append(SessionStarted(node, pid, self.journal.seconds, time.time()))
        self.hear()

    def next(self) -> Try | None:
        """The trial to run now - one that was suggested and lost, else a new one - or None when there is none."""
        self.hear()
        waiting = (t for number, t in self._trials.pending.items() if number not in self._evaluating)
        trial = next(waiting, None)
        if trial is None and self._trials.started == self.total:
            return None
        trial = trial or self._suggest()
        self.journal.settle()
        self._evaluating.add(trial.number)
        return self._try(trial)

    def hear(self) -> None:
        """Write down what people asked since the last time, and obey; what the journal holds was obeyed before."""
        for request in self.journal.requests():
            if self._repeats.heard(request):
                continue
            refusal = unfit(request, self._trials.rows)
            if refusal:
                log.warning("%s: %s", self.study.key, refusal)
                continue
            self.journal.append(request)
            self._obey(request)

    def _obey(self, request: Request) -> None:
        self._repeats.take(request)
        self._ended = False
        if isinstance(request, Ruling) and request.ruling in MEANING:
            self._trials.rule(request.number, MEANING[request.ruling])

    def observe(self, trial: Try, evaluation: Evaluation) -> None:
        """Write down what a trial gave, then let the optimizer know; a trial that was settled before stays as it is."""
        if trial.number not in self._trials.pending:
            return
        if evaluation.report is not None and evaluation.report.corrupted:
            self.record_report(evaluation.report)
        self._write(observation_of(trial, evaluation))

    def stops(self, trial: Try, step: int, value: float) -> bool:
        """Whether a trial on its way is stopped at this rung: decided once, and the same after a resume.

        A decision need not be on disk at once: who lost one asks again.
        """
        if trial.number not in self._trials.pending:
            return True
        self._trials.climb(trial.number, step, value)
        known = self._stopping.decided(trial.number, step)
        if known is not None:
            return known
        promise, repeats = partial(self._promise, trial.number, step, value), trial.replicate_of is not None
        event = self._stopping.decide(trial.number, step, value, promise, exempt=repeats)
        self.journal.append(event, sync=False)
        return event.stopped

    def _promise(self, number: int, step: int, value: float) -> float:
        """How probably a trial on its way would end best; a model that fails stops nobody."""
        try:
            return self._trials.promise(number, step, value)
        except Exception as error:
            log.warning("%s: trial %d goes on, for the model failed (%s).", self.study.key, number, error)
            return 1.0

    def record_report(self, report: AdversaryReported) -> None:
        """Write down what the adversary did, once."""
        if report.number not in self._reports:
            self.journal.append(report)
            self._reports[report.number] = report

    def fail(self, trial: Try, reason: str) -> None:
        """Write down a failed try; while the study allows another the trial goes back in line."""
        if trial.number not in self._trials.pending:
            return
        self.journal.append(TrialFailed(trial.number, trial.attempt, reason[:REASON_LENGTH], time.time()))
        self._evaluating.discard(trial.number)
        again = self._trials.retry(trial.number)
        if again.attempt > self.study.retries:
            self._give_up(self._try(again))

    def fail_pending(self, reason: str) -> None:
        """The process that held the pending trials died: each of them failed once."""
        for trial in self._trials.pending.values():
            self.fail(self._try(trial), reason)

    def close(self) -> None:
        """Write down, once, what the optimizer concludes in the end; what came back last is on disk in any case."""
        self.journal.settle()
        if not self.finished or self._ended:
            return
        self._update()
        last = self._conclusion()
        self.journal.append(
            *self._state_if_due(ended=True),  # for who draws it
            StudyEnded(
                recommended=last.recommended,
                at=time.time(),
                journal_seconds=self.journal.seconds,
                weights=self._changed_weights(),
                mean=last.mean,
                std=last.std,
                expected=last.expected,
                deviations=last.deviations,
                probability=last.probability,
            ),
        )
        self._ended = True

    def _conclusion(self) -> Conclusion:
        told = {row.number: row.y for row in self._trials.rows if row.number is not None}
        return conclude_or_highest(self.optimizer, told, self.study.key)

    def _recommended(self, suggestion: Suggestion) -> int | None:
        """The trial to hand over now, where it is time to ask and the model has just worked."""
        told = self.optimizer.n
        if not told or suggestion.model_failure or told % max(1, told // RECOMMEND_SHARE):
            return None
        return self._trials.recommend().number

    def _suggest(self) -> Trial:
        start = time.perf_counter()
        suggestion = self._repetition() or self._trials.ask()
        event = TrialSuggested(
            number=self._trials.started,
            x=suggestion.x,
            at=time.time(),
            seconds=time.perf_counter() - start,
            journal_seconds=self.journal.seconds,
            weights=self._changed_weights(),
            fallback=suggestion.model_failure,
            recommended=self._recommended(suggestion),
            replicate_of=suggestion.replicate_of,
        )
        self.journal.append(*self._state_if_due(), event, sync=self._shared)
        return self._start(suggestion)

    def _start(self, suggestion: Suggestion) -> Trial:
        self._repeats.settle(suggestion.replicate_of)
        return self._trials.start(suggestion)

    def _repetition(self) -> Suggestion | None:
        """The point of an earlier trial, where a person wants that one again or the answer is to be confirmed."""
        wanted = self._repeats.wanted()
        if wanted is None and not self._repeats.confirms(self.total - self._trials.started):
            return None
        self._update()  # as a suggestion does
        return (
            confirmation(self._trials, self._repeats.candidates) if wanted is None else again(self._trials.rows, wanted)
        )

    def _state_if_due(self, *, ended: bool = False) -> list[OptimizerSaved]:
        """What the optimizer concluded so far, when it is time to save it; what it was told is in the journal."""
        told = self.optimizer.n
        if not told or (not ended and told - self._saved < max(SAVE_EVERY, told // 20)):
            return []
        self._saved = told
        return [OptimizerSaved(STATE_LAYOUT, told, state_without_rows(self.optimizer))]

    def _changed_weights(self) -> dict[int, float]:
        """Weights that moved since they were last written, by trial."""
        weights = self.optimizer.committed_weights()
        told = self._trials.rows if self._weights or (weights != 1.0).any() else ()  # most have nothing to compare
        now = {row.number: w for row, w in zip(told, weights.tolist(), strict=False) if row.number is not None}
        changed = {n: weight for n, weight in now.items() if self._weights.get(n, 1.0) != weight}
        self._weights |= changed
        return changed

    def _give_up(self, trial: Try) -> None:
        self._write(failed_observation(self.study, self.objective, trial, self._reports.get(trial.number)))

    def _write(self, observation: Observation) -> None:
        """Write down what came of a trial, and learn it; nobody else does before it is on disk, nor does a trial begin."""
        self.journal.append(observation, wait=self._shared)
        self._settle(observation)

    def _settle(self, observation: Observation) -> None:
        self._evaluating.discard(observation.number)
        self._repeats.note(observation)
        if observation.failed:
            self._trials.fail(observation.number)
            return
        for step, value in rungs_of(observation.progress, observation.y) if self.study.scheduler is not None else ():
            self._trials.climb(observation.number, step, value)
        self._trials.complete(
            observation.number,
            observation.y,
            standard_error=observation.standard_error,
            reporter=observation.reporter.name or None,
            whole=not observation.stopped,
        )

    def _try(self, trial: Trial) -> Try:
        return Try(trial.number, trial.x, trial.attempt, trial.replicate_of, self._repeats.ran_on(trial.replicate_of))

    # Replaying a journal

    def _replay_all(self, events: Sequence[Event]) -> None:
        readable = (i for i, e in enumerate(events) if isinstance(e, OptimizerSaved) and e.layout == STATE_LAYOUT)
        last_state = max(readable, default=0)
        for index, event in enumerate(events):
            self._replay(event, concluded=index < last_state)
        for trial in self._trials.pending.values():
            if trial.attempt > self.study.retries:
                self._give_up(self._try(trial))

    def _replay(self, event: Event, concluded: bool) -> None:
        """Live through one event again; what was `concluded` is in a saved state further on."""
        match event:
            case Header():
                check_header(event, self.study, self.journal.path)
            case OptimizerSaved():
                self._saved = event.told
                if not concluded and event.layout == STATE_LAYOUT:
                    restore_state(self.optimizer, event.state)
            case TrialSuggested():
                if not concluded:
                    self._update()
                self._weights |= event.weights
                self._start(Suggestion(event.x, event.fallback, event.replicate_of))
            case TrialFailed():
                self._trials.retry(event.number)
            case RungReached():
                self._stopping.take(event)
            case AdversaryReported():
                self._reports[event.number] = event
            case Observation():
                self._settle(event)
            case Ruling() | ConfirmationAsked():
                self._obey(event)
            case StudyEnded():
                self._ended = True

    def _update(self) -> None:
        """Let the optimizer conclude what it would when asked."""
        try:
            self.optimizer.update()
        except Exception as error:  # while replaying: it threw when this was lived first, and the fallback is on disk
            log.info("%s: %s in an update", self.study.key, error)
