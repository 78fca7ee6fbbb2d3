"""MLflow: the only file that imports it."""

import ast
import difflib
from typing import Any

import mlflow
import pandas as pd


def experiment_frame(experiment: str, tracking_uri: str | None = None) -> pd.DataFrame:
    """The runs of an experiment as a table: `config/<parameter>` from the parameters, `<metric>` from the metrics."""
    client = mlflow.MlflowClient(tracking_uri)
    found = client.get_experiment_by_name(experiment)
    if found is None:
        names = [known.name for known in client.search_experiments()]
        close = difflib.get_close_matches(experiment, names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else f" There are: {', '.join(names)}."
        raise ValueError(f"MLflow has no experiment {experiment!r}.{hint}")
    return pd.DataFrame([_run_row(run) for run in _all_runs(client, found.experiment_id)])


def _all_runs(client: mlflow.MlflowClient, experiment_id: str) -> list[Any]:
    """Every run, oldest first, page by page."""
    runs: list[Any] = []
    token: str | None = None
    while True:
        page = client.search_runs([experiment_id], order_by=["attributes.start_time ASC"], page_token=token)
        runs.extend(page)
        token = page.token
        if not token:
            return runs


def _run_row(run: Any) -> dict[str, Any]:
    params = {f"config/{name}": _parsed(text) for name, text in run.data.params.items()}
    return {**params, **run.data.metrics}


def _parsed(text: str) -> Any:
    """MLflow keeps parameters as text: numbers, None, flags and nested values come back as what they were."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
