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
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import ray
from ray import tune
from ray.tune import Callback
from ray.tune.search import Searcher

from orchestrator.campaign.study import Study, Suggestion
from orchestrator.engine.actors import TrialActor
from orchestrator.engine.build import build_objective
from orchestrator.engine.cluster import actor_here, demand, end_process
from orchestrator.engine.conductor import Conductor
from orchestrator.engine.journal import JournalError, Log
from orchestrator.engine.trial import Charge, Ledger, Outcome

SETTINGS = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000000",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
"""No result files, no checkpoints, no metric to check: the journal holds all of that."""
WATCH_SECONDS = 0.25


class StudySearch(Searcher):
    """Lets Tune run what the conductor suggests, and tells the conductor what came back."""

    def __init__(self, conductor: Conductor, ledger: Any, until: float) -> None:
        super().__init__()
        self.error: JournalError | None = None
        self.live: dict[str, Suggestion] = {}
        self.overdue: dict[int, str] = {}
        self._conductor, self._ledger, self._until = conductor, ledger, until

    def suggest(self, trial_id: str) -> Any:
        """The next trial's configuration, None while all workers are busy, or the end."""
        conductor = self._conductor
        if self.error is not None or conductor.finished or time.time() >= self._until:
            return Searcher.FINISHED
        if conductor.running >= conductor.study.workers:
            return None
        try:
            suggestion = conductor.next()
        except JournalError as error:
            self.error = error
            return Searcher.FINISHED
        if suggestion is None:
            return None
        self.live[trial_id] = suggestion
        return {"number": suggestion.number, "attempt": suggestion.attempt, "x": list(suggestion.x)}

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        """A trial reports once, when it is complete."""

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Write down what a trial came to; a second report of the same trial finds nothing to write."""
        suggestion = self.live.pop(trial_id, None)
        if suggestion is None:
            return
        outcome = (result or {}).get("outcome")
        try:
            if isinstance(outcome, Outcome) and not error:
                self._conductor.observe(suggestion, outcome)
            else:
                self._fail(suggestion, (result or {}).get("failure", "its process died"))
        except JournalError as failure:
            self.error = failure

    def _fail(self, suggestion: Suggestion, reason: str) -> None:
        charge: Charge | None = ray.get(self._ledger.decided.remote(suggestion.number))
        if charge is not None and charge.corrupted:
            self._conductor.charge(charge)
            if charge.kill and charge.attempt == suggestion.attempt:
                reason = "killed by the adversary"
        self._conductor.fail(suggestion, self.overdue.pop(suggestion.number, reason))

    def save_to_dir(self, checkpoint_dir: str, session_str: str = "default") -> None:
        """Nothing: resuming reads the journal."""

    def save(self, checkpoint_path: str) -> None:
        """Nothing: resuming reads the journal."""

    def restore(self, checkpoint_path: str) -> None:
        """Nothing: resuming reads the journal."""

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Tune pickles its searcher for a restore that never happens


class Watchdog(Callback):
    """Ends trials over their time limit; Tune has none."""

    def __init__(self, search: StudySearch, ledger: Any, limit: float) -> None:
        self._search, self._ledger, self._limit = search, ledger, limit
        self._since: dict[tuple[int, int], tuple[float, int, str]] = {}
        self._looked = 0.0

    def on_step_begin(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Look every so often who is evaluating what, and for how long."""
        now = time.monotonic()
        if now - self._looked < WATCH_SECONDS:
            return
        self._looked = now
        for number, (attempt, pid, node, seconds) in ray.get(self._ledger.running.remote()).items():
            self._since.setdefault((number, attempt), (now - seconds, pid, node))
        live = {(s.number, s.attempt) for s in self._search.live.values()}
        self._since = {trial: entry for trial, entry in self._since.items() if trial in live}
        for (number, _), (since, pid, node) in self._since.items():
            if now - since > self._limit and number not in self._search.overdue:
                self._search.overdue[number] = f"over the time limit of {self._limit:g} s"
                end_process(node, pid)

    def __getstate__(self) -> dict[str, Any]:
        return {}


def run_parallel(
    study: Study, journal: Log, ledger: Path, *, node: str, until: float = float("inf"), paths: Sequence[str] = ()
) -> bool:
    """Run a study with `workers` trial actors, from where its journal ends; returns whether it is finished."""
    conductor = Conductor(study, build_objective(study), journal, shared=True)
    conductor.begin(node, os.getpid())
    name = f"adversary of {ledger} {uuid4().hex}"
    keeper = actor_here(Ledger, node, name=name, max_restarts=-1, max_task_retries=-1)
    adversary = keeper.remote(study, ledger, journal.records, tuple(paths))
    try:
        ray.get(adversary.pid.remote())  # a damaged ledger shows here
        search = StudySearch(conductor, adversary, until)
        if not conductor.finished:
            _fit(study, search, adversary, name, paths)
        if search.error is not None:
            raise search.error
    finally:
        ray.kill(adversary)
    conductor.close()
    return conductor.finished


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


def _fit(study: Study, search: StudySearch, adversary: Any, name: str, paths: Sequence[str]) -> None:
    cpus, gpus = demand(study)
    actor = tune.with_parameters(TrialActor, study=study, ledger=name, paths=tuple(paths))
    watch = [] if study.trial_seconds is None else [Watchdog(search, adversary, study.trial_seconds)]
    with _settings(study.workers), TemporaryDirectory(prefix="orchestrate-") as folder:
        tune.Tuner(
            tune.with_resources(actor, {"cpu": cpus, "gpu": gpus}),
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
                callbacks=watch,
                failure_config=tune.FailureConfig(max_failures=0),
                checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
            ),
        ).fit()
