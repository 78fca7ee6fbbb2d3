"""An MLflow store: the one place of this room that talks to MLflow, which is loaded when a store is opened."""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.campaign.study import Component
from orchestrator.experiments import answering, search_runs
from orchestrator.tracking.address import database_file
from orchestrator.tracking.entries import Entry

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment
    from mlflow.entities import Run as MlflowRun

BATCH, LOCAL_BATCH = 300, 1000
"""Rows in one request: MLflow takes a thousand, but a busy server may then need longer than we wait."""
CLIENT_SETTINGS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "8",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
"""A server that is away is tried again by us, from the journal: MLflow itself would wait for minutes."""


class Store:
    """A store that answered. Whatever goes wrong in it is a `StoreError` of one line; every answer is a heartbeat."""

    def __init__(self, client: "MlflowClient", uri: str, heartbeat: Callable[[], None]) -> None:
        self.client, self.uri, self._heartbeat = client, uri, heartbeat

    @classmethod
    def open(cls, uri: str, heartbeat: Callable[[], None] = lambda: None, *, request_seconds: int = 8) -> "Store":
        """The store at an address; a fresh local one is made by one process while the others wait."""
        for name, value in (CLIENT_SETTINGS | {"MLFLOW_HTTP_REQUEST_TIMEOUT": str(request_seconds)}).items():
            os.environ.setdefault(name, value)
        with answering(uri):
            import mlflow  # reads its settings when it is loaded; `answering` says so where it is not installed

            store = cls(mlflow.MlflowClient(uri), uri, heartbeat)
            with _alone(uri), store._asking() as client:
                client.search_experiments(max_results=1)
        return store

    @contextmanager
    def _asking(self) -> "Iterator[MlflowClient]":
        """The client, for one request or a few."""
        with answering(self.uri):
            yield self.client
        self._heartbeat()

    def experiments(self, query: str = "", *, deleted: bool = False) -> "list[Experiment]":
        """The experiments that fit, those that were deleted too where their names count."""
        from mlflow.entities import ViewType

        view = ViewType.ALL if deleted else ViewType.ACTIVE_ONLY
        with self._asking() as client:
            return list(client.search_experiments(view_type=view, filter_string=query))

    def create_experiment(self, name: str, artifacts: str | None, tags: Mapping[str, str]) -> str:
        """A new experiment; returns its id."""
        with self._asking() as client:
            return str(client.create_experiment(name, artifacts, dict(tags)))

    def tag_experiment(self, experiment: str, tags: Mapping[str, str]) -> None:
        """Set tags of an experiment."""
        for key, value in tags.items():
            with self._asking() as client:
                client.set_experiment_tag(experiment, key, value)

    def runs(self, experiment: str, query: str) -> "list[MlflowRun]":
        """Every run that fits, oldest first."""
        with self._asking() as client:
            return search_runs(client, experiment, query)

    def create_run(self, experiment: str, at: int, tags: Mapping[str, str], name: str) -> str:
        """A new run that began `at` (milliseconds since 1970); returns its id."""
        with self._asking() as client:
            return str(client.create_run(experiment, at, dict(tags), name).info.run_id)

    def delete_run(self, run_id: str) -> None:
        """Put a run into MLflow's bin."""
        with self._asking() as client:
            client.delete_run(run_id)

    def log(
        self,
        run_id: str,
        rows: Sequence[Entry] = (),
        tags: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> None:
        """Rows in as many requests as it takes; tags and parameters come with the last, when all else is there."""
        from mlflow.entities import Metric, Param, RunTag

        metrics = [Metric(e.key, e.value, e.at, e.step) for e in rows]
        most = LOCAL_BATCH if database_file(self.uri) else BATCH
        *first, rest = [metrics[i : i + most] for i in range(0, len(metrics), most)] or [[]]
        for chunk in first:
            with self._asking() as client:
                client.log_batch(run_id, metrics=chunk)
        last_tags = [RunTag(k, v) for k, v in (tags or {}).items()]
        last_params = [Param(k, v) for k, v in (params or {}).items()]
        with self._asking() as client:
            client.log_batch(run_id, metrics=rest, params=last_params, tags=last_tags)

    def log_objective(self, run_id: str, objective: Component) -> None:
        """Name what was maximised as the run's dataset: MLflow's table of runs shows it, and filters by it."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        source = json.dumps({"name": objective.name, **objective.options}, sort_keys=True)
        digest = hashlib.sha256(source.encode()).hexdigest()[:8]
        dataset = Dataset(objective.label, digest, "objective", source)
        with self._asking() as client:
            client.log_inputs(run_id, [DatasetInput(dataset, [InputTag("mlflow.data.context", "objective")])])

    def tag(self, run_id: str, key: str, value: str) -> None:
        """Set one tag of a run."""
        with self._asking() as client:
            client.set_tag(run_id, key, value)

    def write(self, run_id: str, text: str, name: str) -> None:
        """Keep a text as an artifact of a run."""
        with self._asking() as client:
            client.log_text(run_id, text, name)

    def upload(self, run_id: str, path: Path) -> None:
        """Keep a file as an artifact of a run."""
        with self._asking() as client:
            client.log_artifact(run_id, str(path))

    def end_run(self, run_id: str, status: str, at: int) -> None:
        """Say how a run ended, and when."""
        with self._asking() as client:
            client.set_terminated(run_id, status, at)

    def reopen_run(self, run_id: str) -> None:
        """Say that a run goes on."""
        with self._asking() as client:
            client.update_run(run_id, status="RUNNING")


@contextmanager
def _alone(uri: str) -> Iterator[None]:
    """Several processes that create one sqlite store at the same time crash each other."""
    path = database_file(uri)
    if path is None:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
