"""The parallel engine: trial actors under Ray Tune, one conductor, and an adversary actor for all of them.

Tune is given a small searcher of our own instead of RCGPSearch: the conductor already numbers, retries and journals
trials, and asking it directly keeps a study with one worker equal to the sequential engine point by point.
Tune's own state is never read back: the journal is the truth.
"""

import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import ray
from ray import tune
from ray.tune import Callback
from ray.tune.search import Searcher

from orchestrator.campaign.study import Study
from orchestrator.engine.actors import TrialActor
from orchestrator.engine.adversary import BESIDE, AdversaryActor, Evaluating
from orchestrator.engine.answering import Answering
from orchestrator.engine.build import build_objective
from orchestrator.engine.cluster import actor_here
from orchestrator.engine.conductor import Conductor
from orchestrator.engine.deadline import Deadlines, Process, end_process
from orchestrator.engine.desk import RungDesk
from orchestrator.engine.events import AdversaryReported
from orchestrator.engine.journal import Journal, JournalError
from orchestrator.engine.placement import RelaxPlacement, avoidable, bundle
from orchestrator.engine.scratch import scratch_prefix
from orchestrator.engine.trial import Evaluation, FailedTry, Try
from orchestrator.plain import Json

if TYPE_CHECKING:
    from ray.actor import ActorHandle

SETTINGS = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000000",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
"""No result files, no checkpoints, no metric to check: the journal holds all of that."""
POLL_SECONDS = 0.25


class StudySearch(Searcher):
    """Lets Tune run what the conductor suggests, and tells the conductor what came back."""

    def __init__(
        self, conductor: Conductor, adversary: "ActorHandle[AdversaryActor] | None", deadlines: Deadlines, until: float
    ) -> None:
        super().__init__()
        self.error: JournalError | None = None
        self.live: dict[str, Try] = {}
        self._conductor, self._adversary, self._deadlines, self._until = conductor, adversary, deadlines, until

    def suggest(self, trial_id: str) -> dict[str, object] | str | None:
        """The next trial's configuration, None while all workers are busy, or the end."""
        conductor = self._conductor
        if self.error is None:
            self._hear()
        if self.error is not None or conductor.finished or time.time() >= self._until:
            return Searcher.FINISHED
        if conductor.running >= conductor.study.workers:
            return None
        try:
            trial = conductor.next()
        except JournalError as error:
            self.error = error
            return Searcher.FINISHED
        if trial is None:
            return None
        self.live[trial_id] = trial
        told: dict[str, object] = {"number": trial.number, "attempt": trial.attempt, "x": list(trial.x)}
        return told | {"replicate_of": trial.replicate_of, "avoid": avoidable(conductor.study, trial.avoid)}

    def on_trial_result(self, trial_id: str, result: Json) -> None:
        """A trial reports once, when it is complete."""

    def on_trial_complete(self, trial_id: str, result: Json | None = None, error: bool = False) -> None:
        """Write down what a trial came to; a second report of the same trial finds nothing to write."""
        trial = self.live.pop(trial_id, None)
        if trial is None:
            return
        outcome = None if error or result is None else result.get("outcome")
        try:
            if isinstance(outcome, Evaluation):
                self._conductor.observe(trial, outcome)
            else:
                self._fail(trial, outcome.reason if isinstance(outcome, FailedTry) else "its process died")
        except JournalError as failure:
            self.error = failure

    def stops(self, trial: Try, step: int, value: float) -> bool:
        """Whether a trial on its way is stopped; all are once nothing can be written down."""
        try:
            return self.error is not None or self._conductor.stops(trial, step, value)
        except JournalError as error:
            self.error = error
            return True

    def _hear(self) -> None:
        """Obey what people asked, also while all workers are busy."""
        try:
            self._conductor.hear()
        except JournalError as error:
            self.error = error

    def _fail(self, trial: Try, reason: str) -> None:
        report = self._decided(trial.number)
        if report is not None and report.corrupted:
            self._conductor.record_report(report)
            if report.kill and report.attempt == trial.attempt:
                reason = "killed by the adversary"
        self._conductor.fail(trial, self._deadlines.pop_reason((trial.number, trial.attempt)) or reason)

    def _decided(self, number: int) -> AdversaryReported | None:
        """What the adversary decided for a trial that could not tell."""
        if self._adversary is None:
            return None
        decided: AdversaryReported | None = ray.get(_beside(self._adversary.decided).remote(number))
        return decided

    def save_to_dir(self, checkpoint_dir: str, session_str: str = "default") -> None:
        """Nothing: resuming reads the journal."""

    def save(self, checkpoint_path: str) -> None:
        """Nothing: resuming reads the journal."""

    def restore(self, checkpoint_path: str) -> None:
        """Nothing: resuming reads the journal."""

    def __getstate__(self) -> dict[str, object]:
        return {}  # Tune pickles its searcher for a restore that never happens


class TimeLimit(Callback):
    """Ends trials over their time limit while Tune waits for them, and an adversary that takes as long to answer."""

    def __init__(
        self, search: StudySearch, adversary: "ActorHandle[AdversaryActor]", deadlines: Deadlines, limit: float
    ) -> None:
        self._search, self._adversary, self._deadlines, self._limit = search, adversary, deadlines, limit
        self._looked = 0.0

    def on_step_begin(self, iteration: int, trials: list[Any], **info: object) -> None:
        """Look every so often who is evaluating what, and for how long."""
        if time.monotonic() - self._looked < POLL_SECONDS:
            return
        self._looked = time.monotonic()
        live = {(t.number, t.attempt) for t in self._search.live.values()}
        evaluating: list[Evaluating] = ray.get(_beside(self._adversary.evaluating).remote())
        for trial in evaluating:
            if (key := (trial.number, trial.attempt)) in live:
                self._deadlines.begin(key, self._limit, Process(trial.node, trial.pid), trial.seconds)
        self._deadlines.keep(live)
        self._deadlines.enforce()
        if ray.get(_beside(self._adversary.thinking).remote()) > self._limit:  # a new one remembers what was decided
            here = ray.get_runtime_context().get_node_id()
            end_process(Process(here, ray.get(_beside(self._adversary.pid).remote())))

    def __getstate__(self) -> dict[str, object]:
        return {}


def _beside(method: Any) -> Any:
    """A method of the adversary's actor that is answered while it decides."""
    return method.options(concurrency_group=BESIDE)


def run_parallel(
    study: Study, journal: Journal, ledger: Path, *, node: str, until: float = float("inf"), paths: Sequence[str] = ()
) -> bool:
    """Run a study with `workers` trial actors, from where its journal ends; returns whether it is finished."""
    conductor = Conductor(study, build_objective(study), journal, shared=True)
    conductor.begin(node, os.getpid())
    name = f"adversary of {ledger} {uuid4().hex}"
    actor = actor_here(AdversaryActor, node, groups={BESIDE: 2}, name=name, max_restarts=-1, max_task_retries=-1)
    adversary = actor.remote(study, ledger, journal.events, tuple(paths))
    desk = _desk(study, node, name)
    try:
        ray.get(adversary.pid.remote())  # a damaged ledger shows here
        deadlines = Deadlines()
        search = StudySearch(conductor, adversary, deadlines, until)
        limit = study.trial_seconds
        if not conductor.finished:
            watching: list[Callback] = [] if limit is None else [TimeLimit(search, adversary, deadlines, limit)]
            watching += [] if desk is None else [Answering(desk, search.stops)]
            _fit(study, search, name, paths, [*watching, RelaxPlacement(study)], scratch_prefix(ledger.parent))
        if search.error is not None:
            raise search.error
    finally:
        ray.kill(adversary)
        if desk is not None:
            ray.kill(desk)
    conductor.close()
    return conductor.finished


def _desk(study: Study, node: str, adversary: str) -> "ActorHandle[RungDesk] | None":
    """Where the trials of a study with a scheduler ask whether to go on, beside their adversary."""
    if study.scheduler is None:
        return None
    threads = study.workers + 2  # those who wait for an answer, the one who gives it, and who asks again
    options: dict[str, Any] = {"max_restarts": -1, "max_task_retries": -1, "max_concurrency": threads}
    desk: ActorHandle[RungDesk] = actor_here(RungDesk, node, name=_desk_of(study, adversary), **options).remote()
    return desk


def _desk_of(study: Study, adversary: str) -> str:
    """The name of that desk; none where there is none."""
    return "" if study.scheduler is None else f"desk beside {adversary}"


@contextmanager
def _settings(workers: int) -> Iterator[None]:
    """Tune as a journalled study needs it, and afterwards as this process had it."""
    wanted = SETTINGS | {"TUNE_MAX_PENDING_TRIALS_PG": str(workers)}
    before = {name: os.environ.get(name) for name in wanted}
    logger = logging.getLogger("ray.tune")
    level = logger.level
    os.environ.update(wanted)
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _fit(
    study: Study, search: StudySearch, adversary: str, paths: Sequence[str], callbacks: list[Callback], prefix: str
) -> None:
    desk = _desk_of(study, adversary)
    actor = tune.with_parameters(TrialActor, study=study, adversary=adversary, desk=desk, paths=tuple(paths))
    # Tune keeps classes by name for all studies of a driver: of one name, the last study's would serve them all
    actor.__name__ = f"TrialActor_{uuid4().hex}"
    with _settings(study.workers), TemporaryDirectory(prefix=prefix) as folder:
        tune.Tuner(
            tune.with_resources(actor, partial(bundle, study)),
            tune_config=tune.TuneConfig(
                search_alg=search,
                num_samples=-1,
                reuse_actors=True,
                trial_name_creator=lambda trial: trial.trial_id,
                trial_dirname_creator=lambda trial: trial.trial_id,
            ),
            run_config=tune.RunConfig(
                storage_path=folder,
                verbose=0,
                callbacks=callbacks,
                failure_config=tune.FailureConfig(max_failures=0),
                checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
            ),
        ).fit()
