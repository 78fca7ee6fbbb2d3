"""An MLflow experiment read as a table: what a search can start from, and what a report can be made of."""

import ast
import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pandas as pd

from orchestrator.errors import UserError, did_you_mean, redacted
from orchestrator.extras import needing

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment
    from mlflow.entities import Run as MlflowRun

PARAMETER, ABOUT = "config/", "run/"
"""Prefixes in tables of foreign runs: their parameters, and what MLflow itself knows of them; the rest are metrics."""
KIND = "orchestrate.kind"
"""Tag that says what a run of ours is: a study, a trial or a summary."""
TABLE = "trials.json"
"""The artifact with all trials of a study."""
CAUSES = (
    "Connection refused",
    "Connection aborted",
    "Connection reset by peer",
    "Read timed out",
    "Name or service not known",
    "No route to host",
)
"""What a person wants to hear out of a client's long story."""


class StoreError(UserError):
    """An MLflow store did not answer, or not as it should; `reason` is the short story without the address."""

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__(f"MLflow at {redacted(uri)}: {reason.rstrip('.')}.")
        self.reason = reason


@contextmanager
def answering(uri: str) -> Iterator[None]:
    """Whatever a store that is away, slow, locked or damaged raises within the block is one line."""
    with needing("An MLflow experiment", "mlflow"):
        from google.protobuf.json_format import Error as UnreadableError
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (
        MlflowException,
        SQLAlchemyError,
        UnreadableError,
        OSError,
    ) as error:  # OSError is also what requests raises
        raise StoreError(uri, one_line(error)) from error


def one_line(error: BaseException) -> str:
    """What went wrong, short and without credentials."""
    text = redacted(" ".join(str(error).split()))
    for cause in CAUSES:
        if cause in text:
            return cause.lower()
    plain = text.partition("Caused by ")[2].removesuffix(")") or text.partition(" [SQL: ")[0]
    driver, _, said = plain.partition(") ")
    if driver == "(sqlite3.DatabaseError":
        return f"damaged ({said}). Move the file away; 'orchestrate sync' writes a run's journals into a new one"
    return (said if driver.startswith("(sqlite3.") else plain)[:200].rstrip(".") or type(error).__name__


def experiment_frame(experiment: str, tracking_uri: str | None = None) -> pd.DataFrame:
    """The runs of an experiment as a table: `config/<parameter>` from the parameters, `<metric>` from the metrics."""
    with needing("An MLflow experiment", "mlflow"):
        import mlflow  # heavy: only those who ask for an experiment pay

    with answering(tracking_uri or mlflow.get_tracking_uri()):
        client = mlflow.MlflowClient(tracking_uri)
        runs = search_runs(client, find_experiment(client, experiment).experiment_id)
        studies = [run for run in runs if run.data.tags.get(KIND) == "study"]
        if studies:
            return pd.concat([_trial_rows(client, run) for run in studies], ignore_index=True)
    return runs_frame(runs)


def _trial_rows(client: "MlflowClient", run: "MlflowRun") -> pd.DataFrame:
    """The trials of a study of ours: their parameters are in its table, the run's own say what the study was."""
    names = {"y": "observed", "y_true": "true_value"}
    return read_table(client, run).rename(columns=lambda c: names.get(c, str(c).replace("param.", PARAMETER, 1)))


def read_table(client: "MlflowClient", run: "MlflowRun") -> pd.DataFrame:
    """The trials a study's run keeps."""
    with TemporaryDirectory() as folder:
        table = json.loads(Path(client.download_artifacts(run.info.run_id, TABLE, folder)).read_text())
    frame = pd.DataFrame(table["data"], columns=table["columns"])
    numbers = [c for c in ("y", "y_true", "value", "recommended") if c in frame]
    frame[numbers] = frame[numbers].apply(pd.to_numeric)
    return frame


def runs_frame(runs: "Sequence[MlflowRun]") -> pd.DataFrame:
    """One row for each run; one that only holds others together has no result of its own."""
    parents = {run.data.tags.get("mlflow.parentRunId") for run in runs}
    single = [run for run in runs if run.data.tags.get(KIND) != "sweep"]
    return pd.DataFrame([_run_row(run) for run in single if run.data.metrics or run.info.run_id not in parents])


def _run_row(run: "MlflowRun") -> dict[str, object]:
    params = {f"{PARAMETER}{name}": _parsed(text) for name, text in run.data.params.items()}
    about = {"name": run.info.run_name, "started": run.info.start_time, "status": run.info.status}
    metrics = {name: _unbounded(value) for name, value in run.data.metrics.items()}
    return params | {f"{ABOUT}{name}": value for name, value in about.items()} | metrics


def _unbounded(value: float) -> float:
    """MLflow keeps infinity as the largest number there is."""
    return math.copysign(math.inf, value) if abs(value) >= sys.float_info.max else value


def _parsed(text: str) -> object:
    """MLflow keeps parameters as text: numbers, None, flags and nested values come back as what they were."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def find_experiment(client: "MlflowClient", name: str) -> "Experiment":
    """The experiment of that name; an unknown one is refused with the closest that there is."""
    found = client.get_experiment_by_name(name)
    if found is None:
        names = [known.name for known in client.search_experiments()]
        raise UserError(f"MLflow has no experiment {name!r}; {did_you_mean(name, names)}")
    return found


def search_runs(client: "MlflowClient", experiment: str, query: str = "") -> "list[MlflowRun]":
    """Every run that fits, oldest first, page by page."""
    runs: list[MlflowRun] = []
    token: str | None = None
    while True:
        page = client.search_runs([experiment], query, order_by=["attributes.start_time ASC"], page_token=token)
        runs.extend(page)
        token = page.token
        if not token:
            return runs


def is_blank(cell: object) -> bool:
    """Whether a table's cell holds nothing."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell))
