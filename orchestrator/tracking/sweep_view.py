"""MLflow's view of somebody's own sweep: one parent run, one child a trial, and how far each is believed.

Whatever is written here can be written again without changing anything: runs are found by their tags, rows carry the dates
of the sweep's journal, files are replaced, and a tag says how many reports a child holds.
"""

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from orchestrator.campaign.lock import Lock
from orchestrator.errors import UserError, redacted
from orchestrator.experiments import KIND
from orchestrator.review.files import write_files
from orchestrator.review.foreign import ForeignReport
from orchestrator.tracking import sweep_entries as entries
from orchestrator.tracking.address import database_file
from orchestrator.tracking.charts import sweep_views
from orchestrator.tracking.entries import milliseconds
from orchestrator.tracking.experiment import NOTE
from orchestrator.tracking.store import Store
from orchestrator.tracking.sweep import JOURNAL, Session, Sweep, SweepTrial, read_lines
from orchestrator.tracking.sweep_report import sweep_report
from orchestrator.tracking.tags import TRIAL, WRITTEN, provenance
from orchestrator.tracking.writer import Ending, Status, Tell, follow, open_store, serve

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun

SWEEP = "orchestrate.sweep"
"""Tag of every run of a sweep: which."""
LOCK = "mlflow-sweep.lock"
LAST_WORDS = 120.0
"""Seconds in which a writer that was left alone has ended."""
PARENT = "mlflow.parentRunId"
Known = tuple[SweepTrial, int, int]
"""A trial, its reports and its weights, when they were last written: the same again is no news."""


@dataclass
class Child:
    """The MLflow run of a trial, and what it holds."""

    id: str
    written: int = 0
    ended: bool = False
    known: Known | None = None


class SweepView:
    """Keeps MLflow's view of the sweep in a folder. Interrupted anywhere, the next push completes it."""

    def __init__(self, folder: Path, store: Store, tell: Tell = lambda status, reason: None) -> None:
        self._path, self._store, self._tell = folder / JOURNAL, store, tell
        self._sweep, self._place = Sweep(), 0
        self._experiment = ""
        self._parent: str | None = None
        self._children: dict[str, Child] = {}

    def push(self, *, last: bool = False) -> None:
        """Write what is in the journal and not in MLflow yet; `last` says that the session is over."""
        lines, self._place = read_lines(self._path, self._place)
        self._sweep.add(lines)
        if any(isinstance(line, Session) for line in lines):
            self._open()
        if self._sweep.session is None or not (lines or last):
            return
        for trial in self._sweep.trials.values():
            self._push_trial(trial)
        self._store.log(self._run, entries.parent_entries(self._sweep), {WRITTEN: str(len(self._sweep.ended()))})
        if last:
            self._conclude()

    @property
    def _run(self) -> str:
        assert self._parent is not None
        return self._parent

    # --- the parent ---------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Find the runs of this sweep or make the parent; children of trials that Tune forgot go to MLflow's bin."""
        session = self._sweep.session
        assert session is not None
        self._experiment = _open_experiment(self._store, session)
        found = self._found(session, "sweep", SWEEP)
        self._parent = found[session.sweep].info.run_id if session.sweep in found else self._create(session)
        self._store.reopen_run(self._run)
        self._children = {}
        for trial, run in self._found(session, "trial", TRIAL).items():
            if trial not in self._sweep.trials and trial not in session.trials:
                self._store.delete_run(run.info.run_id)
            else:
                over = run.info.status != "RUNNING"
                self._children[trial] = Child(run.info.run_id, int(run.data.tags.get(WRITTEN, 0)), over)

    def _create(self, session: Session) -> str:
        tags = {KIND: "sweep", SWEEP: session.sweep} | provenance() | dict(session.tags)
        made = self._store.create_run(self._experiment, milliseconds(session.at), tags, session.name)
        self._store.log(made, params={"metric": session.metric, "mode": session.mode} | dict(session.about))
        return made

    def _found(self, session: Session, kind: str, key: str) -> "dict[str, MlflowRun]":
        """The runs of a kind by a tag; of two that a lost answer led to, the later is deleted."""
        query = f"tags.`{SWEEP}` = '{session.sweep}' and tags.`{KIND}` = '{kind}'"
        found: dict[str, MlflowRun] = {}
        for run in self._store.runs(self._experiment, query):
            if run.data.tags[key] in found:
                self._store.delete_run(run.info.run_id)
            found.setdefault(run.data.tags[key], run)
        return found

    def _conclude(self) -> None:
        """The session is over: what it came to, and our report."""
        for trial in self._sweep.interrupted():
            self._push_trial(trial)
        self._tell(Status.DRAWING, "")
        with TemporaryDirectory() as folder:
            report = sweep_report(self._sweep, Path(folder))
            self._store.log(self._run, entries.final_entries(self._sweep, report), self._parent_tags(report))
            self._tag_trust(report)
            if report is not None:
                for file in write_files(report):
                    self._store.upload(self._run, file)
        whole = self._sweep.closed and not self._sweep.interrupted()
        self._store.end_run(self._run, "FINISHED" if whole else "KILLED", milliseconds(self._sweep.ended_at))

    def _parent_tags(self, report: ForeignReport | None) -> dict[str, str]:
        tags = {NOTE: entries.note(self._sweep, report)}
        best = entries.best_of(self._sweep, report)
        if best is not None:
            tags |= {
                "rcgp.best_trial": best.trial.name,
                "rcgp.best_params": json.dumps(best.trial.params, default=str)[:8000],
            }
            tags["rcgp.best_run"] = self._children[best.trial.id].id
        return tags

    def _tag_trust(self, report: ForeignReport | None) -> None:
        for trial, (rows, tags) in entries.trust(self._sweep, report).items():
            self._store.log(self._children[trial].id, rows, tags)

    # --- its children -------------------------------------------------------------------------------------------------

    def _push_trial(self, trial: SweepTrial) -> None:
        """A trial's parameters, reports and weights; nothing is asked of MLflow where there is no news."""
        reports, beliefs = self._sweep.reports.get(trial.id, []), self._sweep.beliefs.get(trial.id, [])
        child = self._children.get(trial.id) or self._create_child(trial)
        known = (trial, len(reports), len(beliefs))
        if child.known == known:
            return
        if child.ended and trial.ended is None:
            self._store.reopen_run(child.id)
        weighed = child.known[2] if child.known else 0
        rows = entries.report_entries(reports[child.written :]) + entries.belief_entries(beliefs[weighed:])
        self._store.log(child.id, rows, {WRITTEN: str(len(reports))} | _tags_of(trial), entries.params(trial))
        if trial.ended is not None:
            self._store.end_run(child.id, trial.status, milliseconds(trial.ended))
        child.written, child.known, child.ended = len(reports), known, trial.ended is not None

    def _create_child(self, trial: SweepTrial) -> Child:
        session = self._sweep.session
        assert session is not None
        tags = (
            {KIND: "trial", SWEEP: session.sweep, TRIAL: trial.id, PARENT: self._run}
            | provenance()
            | dict(session.tags)
        )
        made = self._store.create_run(self._experiment, milliseconds(trial.started), tags, trial.name)
        self._children[trial.id] = Child(made)
        return self._children[trial.id]


def _tags_of(trial: SweepTrial) -> dict[str, str]:
    return {"host": trial.host} if trial.host else {}


def _open_experiment(store: Store, session: Session) -> str:
    """The experiment of that name, made if there is none, with a view of its sweeps."""
    quoted = session.experiment.replace("'", "''")
    found = store.experiments(f"name = '{quoted}'")
    views = sweep_views()
    if found:
        store.tag_experiment(found[0].experiment_id, {k: v for k, v in views.items() if k not in found[0].tags})
        return str(found[0].experiment_id)
    tags = views | {"mlflow.experimentKind": "custom_model_development"}  # else the page opens on an empty overview
    return store.create_experiment(session.experiment, _artifact_folder(store.uri, session.experiment), tags)


def _artifact_folder(uri: str, experiment: str) -> str | None:
    """Beside a database; a server has a place of its own. MLflow's ./mlruns would make its next start take it for a store."""
    database = database_file(uri)
    if database is None:
        return None
    name = re.sub(r"[^\w.-]+", "-", experiment)
    return (database.absolute().parent / "mlflow-artifacts" / name).as_uri()


def sync_sweep(folder: Path, uri: str) -> str:
    """Write to MLflow, here and now, what it has not got of the sweep in an experiment's folder; a line says so."""
    if not (folder / JOURNAL).is_file():
        raise UserError(f"{folder} holds no {JOURNAL}: give the folder of an experiment that had the callback.")
    lock = Lock(folder / LOCK)
    try:
        view = SweepView(folder, Store.open(uri, request_seconds=30))
        view.push(last=True)
    finally:
        lock.close()
    return f"{folder.name}: {len(view._sweep.trials)} trials are in MLflow at {redacted(uri)}."


# --- in the writer's process ------------------------------------------------------------------------------------------


def _write(folder: Path, uri: str, ending: Ending, tell: Tell) -> bool:
    """Write the journal to MLflow as it grows until its end; returns whether all of it is there."""
    lock = _patient_lock(folder / LOCK, tell)
    done = follow(folder.name, lambda: SweepView(folder, open_store(uri, tell), tell), ending, tell)
    lock.close()
    return done


def _patient_lock(path: Path, tell: Tell) -> Lock:
    """The writer of a driver that was killed may still be at its last words when the sweep is restored."""
    deadline = time.monotonic() + LAST_WORDS
    while True:
        tell(Status.ASKING, "")
        try:
            return Lock(path)
        except UserError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    serve(_write)
