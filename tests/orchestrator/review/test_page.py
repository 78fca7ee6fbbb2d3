"""What the page shows of a campaign, as data."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from small_runs import finished

from orchestrator.campaign.campaign import Campaign
from orchestrator.campaign.runs import Run
from orchestrator.review.files import write_files
from orchestrator.review.page import page_data
from orchestrator.review.report import Report


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return finished(tmp_path_factory.mktemp("page"))


def test_two_parameters_an_unknown_maximum_and_broken_values_can_be_drawn(tmp_path: Path) -> None:
    faults = {"5": "nan", "6": "inf", "7": "raise"}
    objective = {"name": "faulty:Faulty", "folder": str(tmp_path), "known": False, "faults": faults, "times": 9}
    adversaries = ["honest", {"name": "crash", "value": -1e6, "budget": 1}]
    run = finished(tmp_path / "runs", objective=objective, adversaries=adversaries, algorithms=["a2-rcgp-ucb"], seeds=1)
    report = Report.of(run)
    names = {path.name for path in write_files(report)}
    assert {"posterior.png", "learning.png"} <= names
    data = page_data(report)
    json.dumps(data, allow_nan=False)
    assert data["posterior"]["title"] == "Response surface"
    assert set(report.headline["adversary"]) == {"crash"}  # the honest grid is not what a reader came for
    assert report.verdict().startswith("Cumulative regret under crash: a2-rcgp-ucb, ")
    assert data["posterior"]["first"] == 1
    assert [s["label"] for s in data["posterior"]["studies"]] == ["a2-rcgp-ucb (honest)", "a2-rcgp-ucb (crash)"]
    assert data["regret"]["charts"][0]["title"] == "Learning curve"
    low, high = data["posterior"]["range"]
    assert -2.0 < low < high < 0.1  # the lie of a million does not stretch the picture


def test_every_trial_is_in_the_table(run: Run) -> None:
    report = Report.of(run)
    table = {column["name"]: column["values"] for column in page_data(report)["trials"]["columns"]}
    assert list(table) == [
        "study", "trial", "x", "reported", "true", "expected", "weight", "what", "seconds", "reporter",
    ]  # fmt: skip
    assert table["trial"] == report.frame["number"].tolist()
    assert None not in table["expected"]
    assert table["reported"] == pytest.approx(report.frame["y"].tolist(), rel=1e-4)
    lies = [what.startswith("lie") for what in table["what"]]
    assert lies == report.frame["corrupted"].tolist()


def test_the_first_card_is_the_answer(run: Run) -> None:
    report = Report.of(run)
    assert report.answer is not None
    shown = page_data(report)["answer"]
    assert shown["title"] == "Use this"
    assert [name for name, _ in shown["parameters"]] == ["x"]
    assert yaml.safe_load(shown["forms"]["YAML"]) == report.answer.use.parameters
    assert "Its true value is" in shown["text"]


def test_three_parameters_are_sliced_and_ranked(tmp_path: Path) -> None:
    report = Report.of(
        finished(tmp_path, objective="hartmann6", algorithms=["random"], adversaries=["honest"], trials=30)
    )
    slices = page_data(report)["slices"]
    shares = [p["share"] for p in slices["parameters"]]
    assert sum(shares) == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)
    assert len(slices["y"]) == len(slices["parameters"][0]["x"]) == len(report.frame)
    assert np.isfinite(slices["range"]).all()


def test_what_was_run_can_be_run_again(run: Run) -> None:
    about = page_data(Report.of(run))["about"]
    assert Campaign.from_dict(yaml.safe_load(about["campaign"])).studies() == run.studies
    assert {"started", "took", "state"} <= dict(about["facts"]).keys()
