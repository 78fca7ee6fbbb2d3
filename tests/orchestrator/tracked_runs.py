"""Small runs that are tracked, and everything MLflow holds of them, read through its own client."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mlflow import MlflowClient
from small_runs import finished, started

from orchestrator.campaign.runs import Run
from orchestrator.review.regret import trials_frame
from orchestrator.tracking.experiment import own_experiment
from orchestrator.tracking.store import Store

PLAN: dict[str, Any] = {
    "description": "A test.",
    "objective": "forrester",
    "algorithms": ["a2-rcgp-ucb", "random"],
    "adversaries": [{"name": "clairvoyant", "budget": 2, "low": -10.0, "high": 25.0}],
    "seeds": 2,
    "trials": 8,
    "initial": 4,
}
CURVES = {
    "observed": "y",
    "true_value": "y_true",
    "corrupted": "corrupted",
    "failed": "failed",
    "weight": "weight",
    "best_so_far": "best_so_far",
    "simple_regret": "simple_regret",
    "cumulative_regret": "cumulative_regret",
}


def tracked_run(folder: Path, name: str, **changes: Any) -> Run:
    """A finished run that MLflow has not heard of yet."""
    return finished(folder, PLAN, name=name, **changes)


def slow_run(folder: Path, name: str, uri: str, seconds: float = 0.2, **changes: Any) -> Run:
    """Sixty trials that sleep, so that what tracking costs can be seen."""
    objective = {"name": "faulty:Faulty", "folder": str(folder), "seconds": seconds}
    given = {
        "objective": objective,
        "adversaries": ["honest"],
        "algorithms": ["random"],
        "trials": 26,
        "tracking": {"uri": uri, "required": True},
    }
    return started(folder / "runs", PLAN, name=name, **(given | changes))


class Reader:
    """Everything MLflow holds of a run, through its own client."""

    def __init__(self, uri: str, run: Run) -> None:
        self.client, self.run = MlflowClient(uri), run
        found = own_experiment(Store.open(uri), run)
        assert found is not None
        self.experiment = self.client.get_experiment(found)
        self.runs = self.client.search_runs([found], max_results=5000)

    def of_kind(self, kind: str) -> list[Any]:
        return [r for r in self.runs if r.data.tags["orchestrate.kind"] == kind]

    def study(self, key: str) -> Any:
        (found,) = [r for r in self.of_kind("study") if r.data.tags["orchestrate.study"] == key]
        return found

    def curve(self, run: Any, key: str) -> dict[int, float]:
        history = self.client.get_metric_history(run.info.run_id, key)
        curve = {m.step: m.value for m in history}
        assert len(curve) == len(history), f"{key}: a trial appears twice"
        return curve

    def drawn(self, run: Any, key: str, steps: Iterable[int]) -> dict[int, float]:
        """The curve as a chart draws it: level between two equal points that have nothing between them."""
        corners = self.curve(run, key)
        before = [max((n for n in corners if n <= step), default=None) for step in steps]
        after = [min((n for n in corners if n >= step), default=None) for step in steps]
        found = zip(steps, before, after, strict=True)
        return {n: corners[a] for n, a, b in found if a is not None and b is not None and corners[a] == corners[b]}

    def table(self, run: Any, folder: Path) -> list[dict[str, Any]]:
        path = Path(self.client.download_artifacts(run.info.run_id, "trials.json", str(folder)))
        table = json.loads(path.read_text())
        return [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]


def assert_complete(uri: str, run: Run, folder: Path) -> None:
    """Every trial of the journals is in MLflow exactly once, and all curves are equal to the last digit."""
    reader, frame = Reader(uri, run), trials_frame(run)
    assert len(reader.of_kind("study")) == len(run.studies)
    for study in run.studies:
        rows, found = frame[frame["study"] == study.key], reader.study(study.key)
        assert found.info.status == "FINISHED"
        for key, column in CURVES.items():
            finite = rows[np.isfinite(rows[column].astype(float))]
            expected = dict(zip(finite["number"], finite[column].astype(float), strict=True))
            assert reader.drawn(found, key, expected) == expected, (study.key, key)
            assert set(reader.curve(found, key)) <= set(expected), (study.key, key)
        assert len(reader.drawn(found, "suspects", range(study.total))) == study.total
        table = reader.table(found, folder)
        assert [row["number"] for row in table] == list(range(study.total))
        assert [float(row["y"]) for row in table] == pytest.approx(rows["y"].tolist(), nan_ok=True, abs=0, rel=0)
        params = [name for name in rows.columns if name.startswith("param.")]
        assert all([row[p] for row in table] == rows[p].tolist() for p in params)
