"""The report of an MLflow experiment, from MLflow alone: of ours, or of one that others filled."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_objective
from orchestrator.errors import UserError
from orchestrator.experiments import KIND, answering, find_experiment, read_table, runs_frame, search_runs
from orchestrator.plain import from_strict_json
from orchestrator.review.foreign import ForeignReport
from orchestrator.review.regret import with_regret
from orchestrator.review.report import Report
from orchestrator.tracking.store import Store
from orchestrator.tracking.tags import DEFINITION, RUN, STAGE

if TYPE_CHECKING:
    from mlflow.entities import Experiment
    from mlflow.entities import Run as MlflowRun


def experiment_report(
    name: str, uri: str, root: Path, metric: str | None = None, mode: str | None = None
) -> Report | ForeignReport:
    """The report of an experiment: of ours by its studies, of one that others filled by its metric."""
    store = Store.open(uri, request_seconds=30)
    with answering(uri):
        experiment = find_experiment(store.client, name)
        runs = search_runs(store.client, experiment.experiment_id)
    studies = [r for r in runs if r.data.tags.get(KIND) == "study"]
    if studies and (metric or mode):
        raise UserError(f"experiment {name!r} is one of ours: its report needs neither --metric nor --mode.")
    folder = root / f"{re.sub(r'[^A-Za-z0-9_-]+', '-', name).strip('-')}-from-mlflow"
    if studies:
        return _own_report(store, experiment, studies, folder)
    return ForeignReport.of(name, runs_frame(runs), metric, mode, folder)


def _own_report(store: Store, experiment: "Experiment", found: "Sequence[MlflowRun]", folder: Path) -> Report:
    """Of several runs in an experiment of ours, the latest."""
    runs = [r for r in found if r.data.tags[RUN] == found[-1].data.tags[RUN]]
    defined = [r for r in runs if DEFINITION in r.data.tags and r.data.tags.get(STAGE) != "running"]
    if not defined:
        raise UserError(
            f"experiment {experiment.name!r} holds no study of ours that came to an end; 'orchestrate sync' writes one."
        )
    studies = tuple(Study.from_dict(from_strict_json(json.loads(r.data.tags[DEFINITION]))) for r in defined)
    with answering(store.uri):
        frame = pd.concat([read_table(store.client, r) for r in defined], ignore_index=True)
    whole = with_regret(frame, build_objective(studies[0]), studies[0].initial)
    description = experiment.tags.get("orchestrate.description", "")
    return Report(experiment.name, description, studies, whole, folder)
