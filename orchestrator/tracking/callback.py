"""RCGPMLflowCallback: a plain `Tuner` in MLflow, with how far every trial is believed. One line of existing code.

The driver only appends to a file in the experiment's folder; a process of its own writes it to MLflow, so that no trial waits
for a server, and one that is away stops nothing.
"""

import functools
import logging
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, TypeVar, cast

from pyarrow.fs import LocalFileSystem
from ray.tune import Callback
from ray.tune.result import AUTO_RESULT_KEYS, DONE, TRAINING_ITERATION
from ray.tune.utils.util import flatten_dict

from orchestrator.errors import UserError, redacted
from orchestrator.extras import require
from orchestrator.plain import Fields, Json
from orchestrator.tracking.sweep import (
    JOURNAL,
    Belief,
    Best,
    Closed,
    Line,
    Session,
    Status,
    SweepReport,
    SweepTrial,
    to_text,
)
from orchestrator.tracking.writer import Writer

if TYPE_CHECKING:
    from ray.tune.experiment import Trial

log = logging.getLogger(__name__)
MODES = ("min", "max")
SAME_WEIGHT = 0.01
"""A weight that moved by less is no news."""
Hook = TypeVar("Hook", bound=Callable[..., None])


class Judgement(Protocol):
    """What a searcher says of a trial."""

    @property
    def trial_id(self) -> str | None: ...
    @property
    def weight(self) -> float: ...
    @property
    def expected(self) -> float: ...


class Recommendation(Protocol):
    """What a searcher says of the trial that it believes best."""

    @property
    def trial_id(self) -> str | None: ...
    @property
    def reported(self) -> float: ...
    @property
    def expected(self) -> float: ...


class JudgingSearcher(Protocol):
    """What the callback asks of a searcher: `RCGPSearch` has it."""

    metric: str
    mode: str

    def weights(self) -> dict[str, float]:
        """How far each report is believed, by trial id, for nothing."""

    def judgements(self) -> Sequence[Judgement]:
        """Every trial with weight and expectation."""

    def best(self) -> Recommendation:
        """The trial believed best."""


def _stops_nothing(hook: Hook) -> Hook:
    """Tune ends the whole sweep when a callback raises: this one says what it met, once, and is silent from then on."""

    @functools.wraps(hook)
    def guarded(self: "RCGPMLflowCallback", *args: object, **kwargs: object) -> None:
        if self._broken:
            return
        try:
            hook(self, *args, **kwargs)
        except Exception as error:
            self._broken = True
            log.warning("RCGPMLflowCallback stopped writing, the sweep goes on: %s", error, exc_info=error)

    return cast(Hook, guarded)


class RCGPMLflowCallback(Callback):
    """Writes a sweep to MLflow: one parent run, one child a trial, how far each is believed, the believed best, a report.

    With a `searcher` (an `RCGPSearch`) trust is the searcher's own, metric and mode are its too. Without one they are given
    here, and a robust model of the parameters judges the trials at the end: for searches of another kind. `experiment` is
    MLflow's (default: MLFLOW_EXPERIMENT_NAME, else the name of the Tune experiment), `tracking_uri` its server or database
    (default: MLflow's own). At the end the writer gets `patience` seconds to finish, while the server answers.
    """

    def __init__(
        self,
        searcher: JudgingSearcher | None = None,
        *,
        experiment: str | None = None,
        tracking_uri: str | None = None,
        metric: str | None = None,
        mode: str | None = None,
        tags: Mapping[str, str] | None = None,
        patience: float = 60.0,
    ) -> None:
        require("RCGPMLflowCallback", "mlflow")
        if searcher is None and not (metric and mode):
            raise UserError("RCGPMLflowCallback needs the searcher, or metric= and mode= of a search of another kind.")
        if mode is not None and mode not in MODES:
            raise UserError(f"mode must be 'min' or 'max', got {mode!r}.")
        if searcher is not None and not hasattr(searcher, "judgements"):
            kind = type(searcher).__name__
            raise UserError(f"searcher must be an RCGPSearch, got a {kind}: leave it out and give metric= and mode=.")
        self.searcher, self.experiment, self.tracking_uri = searcher, experiment, tracking_uri
        self.metric, self.mode, self.tags, self.patience = metric, mode, dict(tags or {}), patience
        self.sweep = uuid.uuid4().hex
        """Which sweep this is: Tune keeps it with the Tuner, so that a restored one goes on in the same runs."""
        self._reset()

    def _reset(self) -> None:
        self._journal: IO[str] | None = None
        self._writer: Writer | None = None
        self._weights: dict[str, float] = {}
        self._ended = 0
        self._broken = False

    def __getstate__(self) -> Json:
        """Tune pickles its callbacks; process and file stay behind."""
        own = ("_journal", "_writer", "_weights", "_ended", "_broken")
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: Json) -> None:
        self.__dict__.update(state)
        self._reset()

    def get_state(self) -> Json:
        """What a restored sweep needs of this one."""
        return {"sweep": self.sweep}

    def set_state(self, state: Json) -> None:
        """Go on with an earlier sweep."""
        self.sweep = state["sweep"]

    # What Tune calls

    @_stops_nothing
    def on_trial_start(self, iteration: int, trials: "list[Trial]", trial: "Trial", **info: object) -> None:
        """A trial begins, or goes on."""
        self._open(trials, trial)
        self._write(_record(trial, "RUNNING"))

    @_stops_nothing
    def on_trial_result(
        self, iteration: int, trials: "list[Trial]", trial: "Trial", result: Json, **info: object
    ) -> None:
        """A trial reported."""
        self._open(trials, trial)
        self._write(_report(trial, result))

    @_stops_nothing
    def on_trial_complete(self, iteration: int, trials: "list[Trial]", trial: "Trial", **info: object) -> None:
        """A trial came to its end."""
        self._end(trials, trial, "FINISHED")

    @_stops_nothing
    def on_trial_error(self, iteration: int, trials: "list[Trial]", trial: "Trial", **info: object) -> None:
        """A trial failed for good."""
        self._end(trials, trial, "FAILED")

    @_stops_nothing
    def on_experiment_end(self, trials: "list[Trial]", **info: object) -> None:
        """The sweep is over, or interrupted: the last word on every trial, then MLflow gets its time."""
        if self._journal is None or self._writer is None:
            return
        self._look()
        self._write(Closed(time.time()))
        folder, writer = self._writer.folder, self._writer
        self._journal.close()
        writer.close()
        where = redacted(writer.uri)
        if writer.reason:
            remedy = f"RCGPMLflowCallback.sync({str(folder)!r})"
            log.warning("MLflow at %s is behind (%s). Catch up with: %s", where, writer.reason, remedy)
        self._reset()

    @staticmethod
    def sync(folder: str | Path, tracking_uri: str | None = None) -> str:
        """Bring MLflow up to date with the sweep in an experiment's folder, after a server that was away."""
        from orchestrator.tracking.sweep_view import sync_sweep

        return sync_sweep(Path(folder), tracking_uri or default_uri())

    # The journal

    def _open(self, trials: "list[Trial]", trial: "Trial") -> None:
        """Begin a session: the journal in the experiment's folder, what Tune knows by now, and the process that writes."""
        if self._journal is not None:
            return
        folder = journal_folder(trial)
        self._journal = (folder / JOURNAL).open("a", encoding="utf-8")
        self._journal.write("\n" if self._journal.tell() else "")  # half a line of a killed driver ends here
        self._write(self._session(trials, trial))
        for known in trials:
            if known.last_result or known.is_finished():
                self._write(_record(known))
        self._ended = sum(known.is_finished() for known in trials)
        self._writer = Writer(
            "orchestrator.tracking.sweep_view", folder, self.tracking_uri or default_uri(), self.patience
        )

    def _session(self, trials: "list[Trial]", trial: "Trial") -> Session:
        name = str(trial.storage.experiment_dir_name)
        experiment = self.experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME") or name
        metric, mode = self._goal()
        ids = tuple(known.trial_id for known in trials)
        sweep = f"{self.sweep}-{name}"  # a callback that is used in two Tuners has two sweeps
        return Session(sweep, name, experiment, metric, mode, time.time(), ids, self._about(), self.tags)

    def _goal(self) -> tuple[str, str]:
        """The searcher hears of metric and mode from the Tuner, later than this callback is made."""
        metric, mode = self.metric, self.mode
        if self.searcher is not None:
            metric, mode = metric or self.searcher.metric, mode or self.searcher.mode
        if not metric or mode not in MODES:
            raise UserError(
                f"RCGPMLflowCallback knows no goal (metric {metric!r}, mode {mode!r}): give metric= and mode=."
            )
        return metric, mode

    def _about(self) -> dict[str, str]:
        settings = getattr(self.searcher, "settings", None)
        if settings is None:
            return {}
        return {"searcher": type(self.searcher).__name__, "algorithm": settings.algorithm, "seed": str(settings.seed)}

    def _write(self, line: Line) -> None:
        assert self._journal is not None
        self._journal.write(to_text(line) + "\n")
        self._journal.flush()

    def _end(self, trials: "list[Trial]", trial: "Trial", status: Status) -> None:
        self._open(trials, trial)
        self._ended += 1
        self._write(_record(trial, status, time.time()))
        if self.searcher is not None:
            for name, weight in self.searcher.weights().items():
                self._believe(name, weight, None)

    # Trust

    def _believe(self, trial: str, weight: float, expected: float | None) -> None:
        if expected is None and abs(self._weights.get(trial, 1.0) - weight) < SAME_WEIGHT:
            return
        self._weights[trial] = weight
        self._write(Belief(trial, weight, expected, time.time(), self._ended))

    def _look(self) -> None:
        """Ask the searcher what it thinks now: one update of its model, at the end."""
        if self.searcher is None:
            return
        for judged in self.searcher.judgements():
            if judged.trial_id is not None:
                self._believe(judged.trial_id, judged.weight, judged.expected)
        try:
            best = self.searcher.best()
        except ValueError:  # no trial has completed with a number: there is none
            return
        if best.trial_id is not None:
            self._write(Best(best.trial_id, best.reported, best.expected, time.time()))


def default_uri() -> str:
    """Where MLflow itself would write: its environment's server, else the database in the working directory."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{Path.cwd() / 'mlflow.db'}"


def journal_folder(trial: "Trial") -> Path:
    """The experiment's folder; for one that is stored elsewhere the driver's copy of it, which Tune uploads."""
    storage = trial.storage
    local = isinstance(storage.storage_filesystem, LocalFileSystem)
    folder = Path(storage.experiment_fs_path if local else storage.experiment_driver_staging_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _record(trial: "Trial", status: Status | None = None, ended: float | None = None) -> SweepTrial:
    """What there is to know of a trial; its status is Tune's unless given."""
    if status is None:
        status = {"TERMINATED": "FINISHED", "ERROR": "FAILED"}.get(trial.status, "RUNNING")  # type: ignore[assignment]
        ended = (trial.run_metadata.last_result_time or time.time()) if trial.is_finished() else None
    params = {name: _plain(value) for name, value in flatten_dict(trial.config or {}).items()}
    started = trial.run_metadata.start_time or time.time()
    host = str((trial.last_result or {}).get("hostname", ""))
    assert status is not None
    return SweepTrial(trial.trial_id, str(trial), params, started, status, ended, host)


def _report(trial: "Trial", result: Fields) -> SweepReport:
    """The numbers that the trial itself reported; Tune's own are left out but how long it took."""
    left_out = {*AUTO_RESULT_KEYS, "config", DONE} - {"time_total_s"}
    own = {key: value for key, value in result.items() if key not in left_out}
    numbers = {key: number for key, value in flatten_dict(own).items() if (number := _number(value)) is not None}
    return SweepReport(
        trial.trial_id, int(result.get(TRAINING_ITERATION, 0)), float(result.get("timestamp", time.time())), numbers
    )


def _number(value: object) -> float | None:
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:  # scalars of numpy and torch
        value = value.item()
    return float(value) if isinstance(value, Real) else None


def _plain(value: object) -> bool | int | float | str | None:
    """A number or a text as it is; anything else by its text, which MLflow keeps."""
    if isinstance(value, type) or callable(value):
        return getattr(value, "__name__", str(value))
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:
        value = value.item()
    return value if isinstance(value, bool | int | float | str | None) else str(value)
