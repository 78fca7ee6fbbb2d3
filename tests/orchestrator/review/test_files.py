"""The files of a report."""

import json
import re
from pathlib import Path

import pytest
from small_runs import finished

from orchestrator.campaign.runs import Run
from orchestrator.review.files import current_files, write_files
from orchestrator.review.report import Report
from orchestrator.review.webpage import data_of
from rcgp import SUSPECT_WEIGHT


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return finished(tmp_path_factory.mktemp("report"))


def test_the_report_is_one_page_that_needs_nothing_else(run: Run) -> None:
    report = Report.of(run)
    files = write_files(report)
    names = {path.name for path in files}
    assert {
        "report.html",
        "regret.csv",
        "trials.csv",
        "regret.png",
        "regret.pdf",
        "posterior.png",
        "posterior.pdf",
    } <= names
    assert all(path.stat().st_size > 300 for path in files)
    page = (report.folder / "report.html").read_text()
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=[\"']?(https?:)?//", page)
    assert not re.search("__[A-Z]+__", page), "a mark was left unfilled"
    assert len(page) < 3_000_000, "small enough to be mailed"
    data = data_of(page)
    assert data["description"] == "Lies < & > truths."
    frame = report.frame
    caught = ((frame["algorithm"] == "a2-rcgp-ucb") & frame["corrupted"] & (frame["weight"] < SUSPECT_WEIGHT)).sum()
    (row,) = [r for r in data["forensics"]["table"]["rows"] if r[1] == "a2-rcgp-ucb"]
    assert row[4] == str(caught)
    best = report.table.iloc[0]
    curve = next(c for c in data["regret"]["charts"][0]["curves"] if c["label"] == best["algorithm"])
    assert curve["x"] == list(range(4, 12))
    assert curve["mean"][-1] == pytest.approx(best["cumulative_regret_mean"], rel=1e-4)


def test_files_are_written_again_only_when_there_is_news(run: Run) -> None:
    report = Report.of(run)
    write_files(report)
    page = report.folder / "report.html"
    before = page.stat().st_mtime_ns
    assert page in current_files(report)
    assert page.stat().st_mtime_ns == before
    journal = run.journal(run.studies[0])
    journal.touch()
    current_files(report)
    assert page.stat().st_mtime_ns > before


def test_the_landers_best_policy_is_filmed(tmp_path: Path) -> None:
    objective = {"name": "lander", "episodes": 1, "max_steps": 60}
    run = finished(tmp_path, objective=objective, adversaries=["honest"], algorithms=["random"], seeds=1, trials=2)
    report = Report.of(run)
    files = {path.name for path in write_files(report)}
    assert {"best.gif", "learning.png"} <= files
    assert (report.folder / "best.gif").read_bytes()[:4] == b"GIF8"
    assert "data:image/gif;base64,R0lGOD" in json.dumps(data_of((report.folder / "report.html").read_text())["film"])


def test_values_at_the_end_of_what_a_float_can_hold_are_drawn(tmp_path: Path) -> None:
    """Sums and averages of them overflow; the report leaves out what cannot be drawn, and nothing breaks."""
    adversaries = [{"name": "crash", "value": -1.7e308, "budget": 2}]
    huge = {
        "name": "faulty:Faulty",
        "folder": str(tmp_path),
        "known": False,
        "faults": {"3": "huge", "5": "-huge", "6": "huge"},
        "times": 9,
    }
    for number, changes in enumerate([{"adversaries": adversaries}, {"objective": huge, "adversaries": ["honest"]}]):
        report = Report.of(finished(tmp_path / str(number), algorithms=["a2-rcgp-ucb", "gp-ucb"], **changes))
        assert {"report.html", "regret.png"} <= {path.name for path in write_files(report)}
