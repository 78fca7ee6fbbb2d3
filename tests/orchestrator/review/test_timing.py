"""Where the time went: parts that add up to the clock, whatever ended a session."""

import time
from contextlib import suppress
from pathlib import Path

import pytest

from orchestrator.campaign.campaign import Campaign
from orchestrator.campaign.runs import Run
from orchestrator.engine.events import Observation, SessionStarted, StudyEnded
from orchestrator.engine.journal import encode_all
from orchestrator.engine.runner import execute, start
from orchestrator.review.timing import PARTS, run_table, study_table, timed

SLOW = {
    "objective": {"name": "forrester"},
    "algorithms": ["random", "gp-ucb"],
    "trials": 4,
    "initial": 2,
    "name": "timed",
    "seeds": 1,
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return start(Campaign.from_dict(SLOW), root=tmp_path)


def session(run: Run) -> float:
    """A whole session without Ray; returns its seconds by the clock."""
    began = time.time()
    with timed(run, began) as mark:
        time.sleep(0.1)
        mark("running")
        execute(run, ray=False)
        mark("ran")
        time.sleep(0.2)
        mark("reported")
        time.sleep(0.3)
    return time.time() - began


def seconds(run: Run) -> dict[str, float]:
    return {row.part: row.seconds for row in run_table(run).itertuples()}


def test_the_parts_add_up_to_the_clock(run: Run) -> None:
    clock = session(run)
    spent = seconds(run)
    assert set(spent) == {*PARTS, "all"}
    assert sum(spent[part] for part in PARTS) == pytest.approx(spent["all"])
    assert spent["all"] == pytest.approx(clock, abs=0.05)
    for part, least in (("start", 0.1), ("report", 0.2), ("tracking", 0.3), ("suggest", 1e-4), ("journal", 1e-4)):
        assert spent[part] >= least


def test_each_study_adds_up_to_its_own_time(run: Run) -> None:
    session(run)
    table = study_table(run)
    assert list(table["study"]) == [study.key for study in run.studies]
    parts = table[["suggest", "evaluate", "journal", "other"]].sum(axis=1)
    assert parts.tolist() == pytest.approx(table["wall"].tolist(), abs=1e-3)


def test_a_session_that_broke_off_counts_as_far_as_it_came_and_sessions_add(run: Run) -> None:
    with suppress(KeyboardInterrupt), timed(run) as mark:
        mark("running")
        time.sleep(0.1)
        raise KeyboardInterrupt
    assert seconds(run)["Ray"] == pytest.approx(0.1, abs=0.05), "no trial had begun"
    assert seconds(run)["tracking"] == 0.0
    first = seconds(run)["all"]
    second = session(run)
    assert seconds(run)["all"] == pytest.approx(first + second, abs=0.05)


def test_several_workers_count_as_the_average_one(run: Run) -> None:
    study = run.studies[0]
    parallel = Run(run.folder, Campaign.from_dict(SLOW | {"workers": 4}))
    events = [
        SessionStarted("here", 1, 0.0, at=0.0),
        *(Observation(i, (0.5,), 1.0, 1.0, 1.0, seconds=2.0, at=float(i)) for i in range(1, 5)),
        StudyEnded(1, at=4.0, journal_seconds=0.5),
    ]
    parallel.journals.mkdir(exist_ok=True)
    parallel.journal(study).write_bytes(b"".join(encode_all(0, events)))
    row = next(study_table(parallel).itertuples())
    assert (row.wall, row.evaluate, row.journal, row.other) == (4.0, 2.0, 0.5, 1.5)


def test_a_full_disk_costs_the_marks_alone(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    (run.folder / "timing.jsonl").mkdir()  # nothing can be appended to a folder
    with timed(run):
        pass
    assert "timing.jsonl: cannot be written" in caplog.text
