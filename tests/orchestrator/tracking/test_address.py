"""Where a run is tracked."""

from pathlib import Path

import pytest
from small_runs import started

from orchestrator.tracking.address import database_file, tracking_uri


def test_the_store_is_the_campaigns_then_the_environments_then_beside_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    plain, named = started(tmp_path, name="a"), started(tmp_path, name="b", tracking={"uri": "http://there:1"})
    assert tracking_uri(plain) == f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://here:1")
    assert tracking_uri(plain) == "http://here:1"
    assert tracking_uri(named) == "http://there:1"
    assert tracking_uri(named, "http://given:1") == "http://given:1"


def test_only_a_local_database_is_a_file() -> None:
    assert database_file("sqlite:////there/mlflow.db") == Path("/there/mlflow.db")
    assert database_file("http://there:1") is None
    assert database_file("postgresql://me@there/mlflow") is None
