"""MLflow, a view of the journals: the only file that imports it.

Whatever is written here can be written again without changing anything: MLflow's runs are found by their tags, rows
carry the journal's dates, files are replaced, and a tag says how many trials a run holds once it holds them.
"""

import fcntl
import json
import logging
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.entities import Metric, Param, RunTag, ViewType
from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from objectives import Objective
from orchestrator.campaign.runs import Run, import_from
from orchestrator.campaign.study import Observation, Study
from orchestrator.engine.build import build_objective
from orchestrator.engine.history import records_of
from orchestrator.engine.journal import Record, observations, to_json
from orchestrator.errors import UserError, redacted
from orchestrator.experiments import KIND, TABLE, find_experiment, read_table, runs_frame, search_runs
from orchestrator.review.files import current_files
from orchestrator.review.foreign import ForeignReport
from orchestrator.review.report import Report, reference, study_frame, with_regret
from orchestrator.tracking import entries
from orchestrator.tracking.entries import (
    DEFINITION,
    RUN,
    STAGE,
    STUDY,
    TRIAL,
    VIEW,
    WRITTEN,
    Entry,
    Judged,
)

log = logging.getLogger(__name__)
BATCH = 300
"""Rows in one request: MLflow takes a thousand, but a busy server may then need longer than we wait."""
FAILURES = (MlflowException, SQLAlchemyError, OSError)
"""What a store that is away, slow or locked raises; `OSError` is also what requests raises."""
SUMMARY = "summary"


def connect(uri: str) -> mlflow.MlflowClient:
    """A client whose store is there; a fresh local one is made by one process while the others wait."""
    client = mlflow.MlflowClient(uri)
    with _alone(uri):
        client.search_experiments(max_results=1)
    return client


@contextmanager
def _alone(uri: str) -> Iterator[None]:
    """Several processes that create one sqlite store at the same time crash each other."""
    path = _sqlite_path(uri)
    if path is None:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sqlite_path(uri: str) -> Path | None:
    scheme, _, path = uri.partition(":///")
    return Path(path) if scheme == "sqlite" else None


@dataclass
class _StudyRun:
    """The MLflow run of a study, and what it holds."""

    id: str
    written: int = -1
    """Trials it holds; -1 before it holds its parameters."""
    stage: str = "running"
    size: int = -1
    """Length of the journal when it was last read."""
    children: dict[int, str] | None = None


@dataclass
class View:
    """MLflow's view of one run. `push` brings it up to date; interrupted anywhere, the next push completes it."""

    run: Run
    client: mlflow.MlflowClient
    uri: str
    say: Callable[[str], None] = lambda news: None
    """Called with "ok" after every answer of the server, with "busy" before long work without one."""
    experiment: str = field(init=False)

    def __post_init__(self) -> None:
        import_from(self.run.paths)
        self._objective: Objective = build_objective(self.run.studies[0])
        self.experiment = _experiment(self.run, self.client, self.uri)
        self._runs = self._known_runs()

    def push(self, *, last: bool = False) -> None:
        """Write what is in the journals and not in MLflow yet; `last` says that the session is over."""
        for study in self.run.studies:
            self._push_study(study, last)
        stages = {known.stage if (known := self._runs.get(s.key)) else "missing" for s in self.run.studies}
        if last and "ended" in stages and stages <= {"ended", "complete"}:
            self._conclude()

    def _push_study(self, study: Study, last: bool) -> None:
        path = self.run.journal(study)
        size = path.stat().st_size if path.exists() else 0
        known = self._runs.get(study.key)
        if not size or (known and (known.stage in ("ended", "complete") or (known.size == size and not last))):
            return
        records = records_of(self.run, study)
        known = known or self._create_run(study, records)
        if known.written < 0:
            self._log_params(known, study)
        self._push_trials(study, known, entries.judged(records))
        known.size = size
        if any(record["kind"] == "end" for record in records):
            self._end_study(study, known, records)
        elif last:
            self._pause_study(study, known, records)

    def _push_trials(self, study: Study, known: _StudyRun, trials: Sequence[Judged]) -> None:
        fresh = trials[known.written :]
        if not fresh:
            return
        if known.stage == "paused":
            self.client.update_run(known.id, status="RUNNING")
            known.stage = "running"
        rows = entries.trial_entries(trials, known.written) + self._live_regret(study, trials, known.written)
        if self._nested(study):
            self._push_children(study, known, [t.observation for t in fresh])
        self._log(known.id, rows, {WRITTEN: str(len(trials)), STAGE: "running"})
        known.written = len(trials)

    def _live_regret(self, study: Study, trials: Sequence[Judged], start: int) -> list[Entry]:
        """Regret while the study runs, where the maximum is known; elsewhere it waits for the end of the campaign."""
        if self._objective.optimum is None:
            return []
        seen = [t.observation for t in trials]
        best, worst = self._objective.optimum.value, float("nan")
        return [e for e in entries.regret_entries(seen, best, worst, study.initial, start) if "_nan" not in e.key]

    def _end_study(self, study: Study, known: _StudyRun, records: Sequence[Record]) -> None:
        seen = _by_number(records)
        rows = entries.weight_entries(seen) + entries.final_entries(seen, records)
        if self._nested(study):
            self._weigh_children(known, seen)
        self._log(known.id, rows)
        self._write_table(study, known, seen)
        self.client.set_terminated(known.id, "FINISHED", entries.milliseconds(records[-1]["at"]))
        self._set_stage(known, "ended")

    def _pause_study(self, study: Study, known: _StudyRun, records: Sequence[Record]) -> None:
        """The session ended before the study did: show what there is, as it is."""
        seen = _by_number(records)
        if seen and known.stage != "paused":
            self._write_table(study, known, seen)
            self.client.set_terminated(known.id, "KILLED", entries.milliseconds(seen[-1].at))
            self._set_stage(known, "paused")

    def _write_table(self, study: Study, known: _StudyRun, seen: Sequence[Observation]) -> None:
        """Every trial in its own units; written as MLflow's tables are, because `log_table` would append."""
        frame = study_frame(study, seen, self._objective)
        rows = [[to_json(v) if isinstance(v, float) else v for v in row] for row in frame.astype(object).to_numpy()]
        self.client.log_text(known.id, json.dumps({"columns": list(frame.columns), "data": rows}), TABLE)
        self.client.set_tag(known.id, "mlflow.loggedArtifacts", json.dumps([{"path": TABLE, "type": "table"}]))
        self.say("ok")

    def _set_stage(self, known: _StudyRun, stage: str) -> None:
        self.client.set_tag(known.id, STAGE, stage)
        known.stage = stage
        self.say("ok")

    def _nested(self, study: Study) -> bool:
        wanted = self.run.campaign.tracking.nested
        return study.workers > 1 if wanted is None else wanted

    def _push_children(self, study: Study, known: _StudyRun, fresh: Sequence[Observation]) -> None:
        children = self._children(known)
        for o in fresh:
            if o.number not in children:
                children[o.number] = self._create_child(study, known, o)
            params = [Param(k, v) for k, v in entries.trial_params(o, self._objective).items()]
            self._log(children[o.number], entries.child_entries(o), params=params)
            status = "FAILED" if o.failed else "FINISHED"
            self.client.set_terminated(children[o.number], status, entries.milliseconds(o.at))
            self.say("ok")

    def _children(self, known: _StudyRun) -> dict[int, str]:
        if known.children is None:
            mine = self._mine("trial", TRIAL, f" and tags.`mlflow.parentRunId` = '{known.id}'")
            known.children = {int(number): run.info.run_id for number, run in mine.items()}
        return known.children

    def _create_child(self, study: Study, known: _StudyRun, o: Observation) -> str:
        tags = {KIND: "trial", RUN: self.run.id, TRIAL: str(o.number), "mlflow.parentRunId": known.id}
        tags |= entries.provenance()
        begun = entries.milliseconds(o.at - o.seconds)
        name = f"{_run_name(self.run, study)}/trial{o.number}"
        return str(self.client.create_run(self.experiment, begun, tags, name).info.run_id)

    def _weigh_children(self, known: _StudyRun, seen: Sequence[Observation]) -> None:
        children = self._children(known)
        for o, entry in zip(seen, entries.weight_entries(seen), strict=True):
            self._log(children[o.number], [entry])

    def _conclude(self) -> None:
        """All studies are over: regret where it had to wait, the summary with the report, and the note."""
        seen = {s.key: _by_number(records_of(self.run, s)) for s in self.run.studies}
        values = pd.Series([o.value for rows in seen.values() for o in rows]).to_numpy()
        best, worst = reference(values, self._objective)
        for study in self.run.studies:
            rows = entries.regret_entries(seen[study.key], best, worst, study.initial)
            late = self._objective.optimum is None or not all(math.isfinite(o.value) for o in seen[study.key])
            self._log(self._runs[study.key].id, (rows if late else []) + entries.final_regret_entries(rows))
        self.say("busy")
        report = Report.of(self.run)
        self._write_summary(report, current_files(report))
        for study in self.run.studies:
            self._set_stage(self._runs[study.key], "complete")

    def _write_summary(self, report: Report, files: Sequence[Path]) -> None:
        """A run for the campaign itself: mean and standard-error curves, the figures, the report, the campaign."""
        found = list(self._mine(SUMMARY, KIND).values())
        begun = min(r["at"] for s in self.run.studies for r in records_of(self.run, s) if "at" in r)
        tags = entries.run_tags(self.run) | {KIND: SUMMARY}
        name = SUMMARY if self.run.campaign.tracking.experiment is None else f"{self.run.name}/{SUMMARY}"
        summary = (
            found[0] if found else self.client.create_run(self.experiment, entries.milliseconds(begun), tags, name)
        )
        at = entries.milliseconds(report.frame["at"].max())
        curves = [Entry(entries.clean(k), v, step, at) for k, step, v in report.mean_curves()]
        self._log(summary.info.run_id, curves)
        campaign = redacted((self.run.folder / "campaign.yaml").read_text())
        self.client.log_text(summary.info.run_id, campaign, "campaign.yaml")
        for path in files:
            self.client.log_artifact(summary.info.run_id, str(path))
            self.say("ok")
        self.client.set_tag(summary.info.run_id, "mlflow.note.content", report.note()[:8000])
        link = f"#/experiments/{self.experiment}/runs/{summary.info.run_id}/artifacts/report.html"
        self.client.set_experiment_tag(self.experiment, "mlflow.note.content", report.note(link)[:8000])
        self.client.set_terminated(summary.info.run_id, "FINISHED", at)

    def _known_runs(self) -> dict[str, _StudyRun]:
        return {key: _recall(run) for key, run in self._mine("study", STUDY).items()}

    def _mine(self, kind: str, key: str, query: str = "") -> dict[str, Any]:
        """This run's MLflow runs of a kind, by a tag; of two that a lost answer led to, the later is deleted."""
        mine = f"tags.`{RUN}` = '{self.run.id}' and tags.`{KIND}` = '{kind}'"
        found: dict[str, Any] = {}
        for run in search_runs(self.client, self.experiment, mine + query):
            name = run.data.tags[key]
            if name in found:
                self.client.delete_run(run.info.run_id)
            found.setdefault(name, run)
        return found

    def _create_run(self, study: Study, records: Sequence[Record]) -> _StudyRun:
        begun = next((r["at"] for r in records if "at" in r), 0.0)
        tags = entries.study_tags(self.run, study)
        name = _run_name(self.run, study)
        made = self.client.create_run(self.experiment, entries.milliseconds(begun), tags, name)
        known = self._runs[study.key] = _StudyRun(made.info.run_id)
        return known

    def _log_params(self, known: _StudyRun, study: Study) -> None:
        params = [Param(k, v) for k, v in entries.study_params(study, self._objective).items()]
        self._log(known.id, [], {WRITTEN: "0"}, params)
        known.written = 0

    def _log(
        self, run_id: str, rows: Sequence[Entry], tags: Mapping[str, str] | None = None, params: Sequence[Param] = ()
    ) -> None:
        """Rows in as many requests as it takes; the tags come with the last, when all else is there."""
        metrics = [Metric(e.key, e.value, e.at, e.step) for e in rows]
        *first, rest = [metrics[i : i + BATCH] for i in range(0, len(metrics), BATCH)] or [[]]
        for chunk in first:
            self.client.log_batch(run_id, metrics=chunk)
            self.say("ok")
        last_tags = [RunTag(k, v) for k, v in (tags or {}).items()]
        self.client.log_batch(run_id, metrics=rest, params=list(params), tags=last_tags)
        self.say("ok")


def _recall(run: Any) -> _StudyRun:
    tags = run.data.tags
    return _StudyRun(run.info.run_id, int(tags.get(WRITTEN, -1)), tags.get(STAGE, "running"))


def _by_number(records: Sequence[Record]) -> list[Observation]:
    return sorted(observations(list(records)), key=lambda o: o.number)


def _run_name(run: Run, study: Study) -> str:
    """As short as the experiment allows: `a2-rcgp-ucb/seed3`."""
    tracking, several = run.campaign.tracking, len(run.campaign.adversaries) > 1
    parts = [run.name] if tracking.experiment is not None else []
    return "/".join([*parts, study.algorithm.label, *([study.adversary.label] if several else []), f"seed{study.seed}"])


# --- experiments ------------------------------------------------------------------------------------------------------


def _experiment(run: Run, client: mlflow.MlflowClient, uri: str) -> str:
    """The experiment of a run: found by its tag or its given name, else created; a taken name gets a number."""
    made = own_experiment(client, run) or _create_experiment(run, client, uri)
    client.set_experiment_tag(made, f"mlflow.sharedViewState.{VIEW}", entries.chart_view(len(run.campaign.adversaries)))
    return made


def own_experiment(client: mlflow.MlflowClient, run: Run) -> str | None:
    """The experiment of a run, where it has one."""
    given = run.campaign.tracking.experiment
    query = f"name = '{given}'" if given else f"tags.`{RUN}` = '{run.id}'"
    found = client.search_experiments(filter_string=query)
    return str(found[0].experiment_id) if found else None


def _create_experiment(run: Run, client: mlflow.MlflowClient, uri: str) -> str:
    given = run.campaign.tracking.experiment
    taken = {e.name for e in client.search_experiments(view_type=ViewType.ALL)}
    name = given or next(n for i in count(1) if (n := run.name if i == 1 else f"{run.name}-{i}") not in taken)
    local = "://" in uri and not uri.startswith("http")
    artifacts = (run.folder.parent / "mlflow-artifacts" / name).absolute().as_uri() if local else None
    description = run.campaign.description
    tags = {"mlflow.note.content": description, "orchestrate.description": description}
    tags["mlflow.experimentKind"] = "custom_model_development"  # otherwise the page opens on an empty overview
    return str(client.create_experiment(name, artifacts, tags if given else tags | {RUN: run.id}))


def link(base: str, experiment: str) -> str:
    """The address that opens an experiment on its regret charts."""
    query = f"?workflowType=machine_learning&compareRunsMode=CHART&viewStateShareKey={VIEW}"
    return f"{base.rstrip('/')}/#/experiments/{experiment}/runs{query}"


# --- results from MLflow alone ----------------------------------------------------------------------------------------


def experiment_report(
    name: str, uri: str, root: Path, metric: str | None = None, mode: str | None = None
) -> Report | ForeignReport:
    """The report of an experiment, from MLflow alone: of ours, or by its metric of one that others filled."""
    client = connect(uri)
    experiment = find_experiment(client, name)
    runs = search_runs(client, experiment.experiment_id)
    studies = [r for r in runs if r.data.tags.get(KIND) == "study"]
    if studies and (metric or mode):
        raise UserError(f"experiment {name!r} is one of ours: its report needs neither --metric nor --mode.")
    folder = root / f"{re.sub(r'[^A-Za-z0-9_-]+', '-', name).strip('-')}-from-mlflow"
    if studies:
        return _own_report(client, experiment, studies, folder)
    return ForeignReport.of(name, runs_frame(runs), metric, mode, folder)


def _own_report(client: mlflow.MlflowClient, experiment: Any, found: Sequence[Any], folder: Path) -> Report:
    """Of several runs in an experiment of ours, the latest."""
    name = experiment.name
    runs = [r for r in found if r.data.tags[RUN] == found[-1].data.tags[RUN]]
    defined = [r for r in runs if DEFINITION in r.data.tags and r.data.tags.get(STAGE) != "running"]
    if not defined:
        raise UserError(
            f"experiment {name!r} holds no study of ours that came to an end; 'orchestrate sync' writes one."
        )
    studies = tuple(Study.from_dict(json.loads(r.data.tags[DEFINITION])) for r in defined)
    frame = pd.concat([read_table(client, r) for r in defined], ignore_index=True)
    whole = with_regret(frame, build_objective(studies[0]), studies[0].initial)
    description = experiment.tags.get("orchestrate.description", "")
    return Report(name, description, studies, whole, folder)
