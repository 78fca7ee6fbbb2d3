"""The parallel engine: trial actors under Ray Tune, one conductor, and an adversary actor for all of them.

Tune is given a small searcher of our own instead of RCGPSearch: the conductor already numbers, retries and journals
trials, and asking it directly keeps a study with one worker equal to the sequential engine point by point.
Tune's own state is never read back: the journal is the truth.
"""

import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SETTINGS = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000000",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
os.environ.update(SETTINGS)  # Tune reads some of them while it is imported

import ray  # noqa: E402
from ray import tune  # noqa: E402
from ray.tune import Callback  # noqa: E402
from ray.tune.search import Searcher  # noqa: E402

from objectives import prepare  # noqa: E402
from orchestrator.cluster import actor_here, demand, end_process  # noqa: E402
from orchestrator.conductor import Conductor  # noqa: E402
from orchestrator.journal import JournalError, Log  # noqa: E402
from orchestrator.study import Study, Suggestion  # noqa: E402
from orchestrator.trial import Charge, Ledger, Outcome, build_objective, die_now, evaluate, look_in  # noqa: E402

WATCH_SECONDS = 0.25


class RemoteGuard:
    """The study's adversary actor, seen from a trial actor."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger

    def answer(self, number: int, attempt: int, x: tuple[float, ...], y_true: float) -> Charge:
        """Ask the one adversary of the study; a restarted one remembers."""
        charge: Charge = ray.get(self._ledger.answer.remote(number, attempt, x, y_true))
        return charge


class TrialActor(tune.Trainable):
    """Evaluates one trial after another, with its objective loaded once."""

    def setup(self, config: dict[str, Any], study: Study, ledger: str, paths: Sequence[str]) -> None:
        """Load the objective and find the adversary."""
        look_in(paths)
        self._study, self._ledger = study, ray.get_actor(ledger)
        self._objective = build_objective(study)
        prepare(self._objective)
        self._node = ray.get_runtime_context().get_node_id()

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take the next trial without a new process."""
        return True

    def step(self) -> dict[str, Any]:
        """The whole trial: it reports once, and is done."""
        suggestion = Suggestion(self.config["number"], tuple(self.config["x"]), self.config["attempt"])
        if self._study.trial_seconds is not None:  # on record before anything can hang
            ray.get(self._ledger.enter.remote(suggestion.number, suggestion.attempt, os.getpid(), self._node))
        guard = RemoteGuard(self._ledger)
        try:
            outcome = evaluate(self._study, self._objective, guard, suggestion, die_now, self._node)
        except Exception as error:  # whatever the objective raises is a failed try, and recorded as one
            return {"failure": f"{type(error).__name__}: {error}", "done": True}
        return {"outcome": outcome, "done": True}


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
    name = f"adversary of {ledger}"
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


def _fit(study: Study, search: StudySearch, adversary: Any, name: str, paths: Sequence[str]) -> None:
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)
    cpus, gpus = demand(study)
    actor = tune.with_parameters(TrialActor, study=study, ledger=name, paths=tuple(paths))
    watch = [] if study.trial_seconds is None else [Watchdog(search, adversary, study.trial_seconds)]
    with TemporaryDirectory(prefix="orchestrate-") as folder:
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
