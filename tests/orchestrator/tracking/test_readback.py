"""Reports from MLflow alone; those of foreign experiments are held in review/test_foreign.py."""

from pathlib import Path

import pytest
from tracked_runs import tracked_run

from orchestrator.errors import UserError
from orchestrator.experiments import experiment_frame
from orchestrator.review.files import write_files
from orchestrator.review.regret import trials_frame
from orchestrator.review.report import Report
from orchestrator.tracking.follower import sync
from orchestrator.tracking.readback import experiment_report


def test_our_experiments_read_back_as_trials_and_as_a_report(store: str, tmp_path: Path) -> None:
    run = tracked_run(tmp_path / "runs", "readable")
    sync(run, store)
    table = experiment_frame("readable", store)
    expected = trials_frame(run)
    assert table["config/x"].tolist() == expected["param.x"].tolist()
    assert table["observed"].tolist() == expected["y"].tolist()
    report = experiment_report("readable", store, tmp_path / "elsewhere")
    assert report.table.equals(Report.of(run).table)
    columns = ["study", "number", "y", "weight", "simple_regret", "cumulative_regret", "param.x"]
    assert report.frame[columns].equals(expected[columns])
    assert (tmp_path / "elsewhere/readable-from-mlflow/report.html") in write_files(report)
    with pytest.raises(UserError, match="no experiment 'readible'; did you mean 'readable'"):
        experiment_report("readible", store, tmp_path)
