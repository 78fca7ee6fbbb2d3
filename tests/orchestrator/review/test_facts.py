"""What was run, when, for how long, with what."""

import json
from pathlib import Path

import pytest
from small_runs import cut_short, finished

from orchestrator.campaign.runs import Run
from orchestrator.review.facts import facts
from orchestrator.review.report import Report
from orchestrator.review.timing import COMPLETE, timed


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return finished(tmp_path, algorithms=["random"], seeds=1)


def test_a_session_leaves_its_versions_its_time_and_its_outcome(run: Run) -> None:
    at = Report.of(run).frame["at"]
    with timed(run, float(at.min()) - 100.0) as marks:
        marks("ran", COMPLETE)
    known = facts(Report.of(run))
    assert known["state"] == "complete"
    assert "numpy " in known["versions"]
    assert known["took"].startswith("0:01:4")
    assert "sessions" not in known


def test_a_session_that_was_killed_counts_up_to_its_last_trial(run: Run) -> None:
    cut_short(run, run.studies[0], 6)
    last = float(Report.of(run).frame["at"].max())
    lines = [{"started": last - 50.0}, {"started": last + 1000.0, "ended": last + 1010.0, "outcome": "interrupted"}]
    (run.folder / "timing.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"started": 1')
    known = facts(Report.of(run))
    assert known["took"] == "0:01:00"
    assert known["sessions"] == "2: cut off or under way, interrupted"
    assert known["state"] == "Not finished: 6 of 12 trials."


def test_without_marks_the_trials_say_when_it_was(run: Run) -> None:
    assert facts(Report.of(run)).keys() == {"started", "took", "state"}
