"""What a report says of a run, in every state the run can be in."""

import math
from pathlib import Path

import pytest
from small_runs import cut_short, finished, started

from orchestrator.campaign.campaign import Campaign
from orchestrator.campaign.runs import Run
from orchestrator.review.files import write_files
from orchestrator.review.page import page_data
from orchestrator.review.report import Report, answer_of
from orchestrator.review.timing import OUT_OF_TIME, timed


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return finished(tmp_path, seeds=1)


def test_a_complete_run_says_nothing_of_its_state(tmp_path: Path) -> None:
    report = Report.of(finished(tmp_path))
    assert (report.state, report.done, report.total) == ("", 72, 72)
    assert report.caption == "Regret after 8 trials, mean ± standard error over 2 seeds"
    assert report.verdict().endswith("(after 8 trials, mean ± standard error over 2 seeds).")


def test_who_is_further_does_not_lose_for_it(run: Run) -> None:
    """GP-UCB has made all its trials, the others few: the sum of eight regrets is not compared with that of two."""
    plain, careful, random = run.studies
    cut_short(run, careful, 7)
    cut_short(run, random, 6)
    report = Report.of(run)
    table = report.table.set_index("algorithm")
    assert set(table["trials"]) == {2}
    assert report.state == "Not finished: 25 of 36 trials."
    assert "after 2 of 8 trials, one seed" in report.verdict()
    cards = page_data(report)["cards"]
    assert not any("times less" in card["value"] or "least" in card["label"] for card in cards)
    mine = report.frame[(report.frame["study"] == plain.key) & (report.frame["number"] == 5)]
    assert table.loc["gp-ucb", "cumulative_regret_mean"] == mine["cumulative_regret"].item()


def test_a_study_without_a_chosen_trial_is_not_ranked_and_nobody_beats_it(run: Run) -> None:
    plain, _, random = run.studies
    cut_short(run, plain, 4)
    cut_short(run, random, 0)
    report = Report.of(run)
    assert report.table["algorithm"].tolist() == ["a2-rcgp-ucb"]
    data = page_data(report)
    assert not any("times less" in card["value"] or "least" in card["label"] for card in data["cards"])
    assert data["cards"][-1] == {"value": "16 of 36", "label": "trials so far, in 2 studies, 0 failed"}
    assert report.verdict().startswith("Not finished: 16 of 36 trials. Cumulative regret: a2-rcgp-ucb, ")


def test_before_the_first_choice_there_is_nothing_to_compare(run: Run) -> None:
    for study in run.studies:
        cut_short(run, study, 3)
    report = Report.of(run)
    assert report.table.empty
    assert report.verdict() == (
        "Not finished: 9 of 36 trials. No algorithm has chosen a trial yet: there is nothing to compare."
    )
    assert page_data(report)["final"] is None
    assert report.answer is not None, "something can be handed over after the first trial"
    assert ", after 3 of 12 trials" in report.answer.sentence()


def test_before_the_first_trial_there_is_no_answer(tmp_path: Path) -> None:
    run = started(tmp_path)
    assert answer_of(run) is None
    table = Report.of(run).by_study()
    assert set(table["trials"]) == {"0/12"}
    assert "nan" not in table.to_string()


def test_a_run_that_hit_its_time_limit_says_so(run: Run, tmp_path: Path) -> None:
    cut_short(run, run.studies[0], 7)
    limited = Run(run.folder, Campaign.from_dict(run.campaign.to_dict() | {"limits": {"total_seconds": 60}}))
    with timed(limited) as marks:
        marks("ran", OUT_OF_TIME)
        assert Report.of(limited).state == "Stopped by its time limit of 60 s after 31 of 36 trials."


def test_no_trial_with_a_value_is_no_winner(tmp_path: Path) -> None:
    objective = {
        "name": "faulty:Faulty",
        "folder": str(tmp_path),
        "known": False,
        "faults": {str(i): "nan" for i in range(36)},
        "times": 9,
    }
    report = Report.of(finished(tmp_path / "runs", objective=objective, adversaries=["honest"], seeds=1))
    assert report.leaders == []
    assert math.isnan(report.table["cumulative_regret_mean"].iloc[0])
    page_data(report)


def test_the_note_opens_with_the_answer(tmp_path: Path) -> None:
    report = Report.of(finished(tmp_path, seeds=1))
    assert report.answer is not None
    first, *rest = report.note("#link").splitlines()
    assert first == report.answer.sentence()
    assert "[Open the report](#link) with all figures." in rest
    assert any(line.startswith("| algorithm") for line in rest)


def test_the_campaign_in_a_report_is_the_campaign(tmp_path: Path) -> None:
    """Also where it is put together from its studies, as from MLflow alone: labels and options included."""
    algorithms = [{"name": "a2-rcgp-ucb", "label": "a2-wide", "width": 4.0}, "random"]
    run = started(
        tmp_path, algorithms=algorithms, limits={"trial_seconds": 9}, resources={"cpus": 0.5}, crash_value=-1.0
    )
    whole = Report.of(run)
    alone = Report(whole.name, whole.description, whole.studies, whole.frame, whole.folder)
    assert whole.campaign == run.campaign
    assert Campaign.from_dict(alone.campaign.to_dict()).studies() == run.studies


def test_a_run_whose_every_trial_failed_is_reported_all_the_same(tmp_path: Path) -> None:
    faults = {str(point): "raise" for point in range(20)}
    objective = {"name": "faulty:Faulty", "folder": str(tmp_path), "faults": faults, "times": 9}
    run = finished(tmp_path, seeds=1, algorithms=["random"], trials=2, initial=1, objective=objective, retries=0)
    report = Report.of(run)
    assert report.frame["failed"].all()
    assert page_data(report)["cards"][-1]["label"] == "in 1 study, 3 failed"
    assert report.folder / "report.html" in write_files(report)
