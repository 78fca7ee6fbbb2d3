"""Experiments that others filled, in a real store: every run a trial, its metric the value, the doubtful ones named."""

import math
from csv import reader as csv_reader
from pathlib import Path

import numpy as np
import pytest
from mlflow.entities import Metric, Param
from pandas import DataFrame
from typer.testing import CliRunner

from orchestrator.cli import app
from orchestrator.errors import UserError
from orchestrator.review.files import write_files
from orchestrator.review.foreign import ForeignReport
from orchestrator.review.webpage import data_of
from orchestrator.tracking.readback import experiment_report
from orchestrator.tracking.store import Store

LIES = {9: -20.0, 17: 30.0}


def loss(rate: float, dropout: float) -> float:
    return 0.2 + 0.1 * (math.log10(rate) + 2) ** 2 + 2 * (dropout - 0.3) ** 2


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What somebody's manual search left: a parent, thirty runs written last first, two typos, a crash and an infinity."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('foreign') / 'mlflow.db'}"
    client, rng = Store.open(uri).client, np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("artifacts").as_uri()
    experiment = client.create_experiment("Manual search", artifact_location=folder)
    parent = client.create_run(experiment, start_time=1, run_name="sweep").info.run_id
    for number in reversed(range(30)):
        config = {"rate": float(10 ** rng.uniform(-4, 0)), "dropout": float(rng.uniform(0, 0.8))}
        texts = {"optimizer": ("adam", "sgd")[number % 2], "data": f"/data/{number}", "epochs": 5}
        tags = {"mlflow.parentRunId": parent}
        run = client.create_run(experiment, start_time=1000 + number, tags=tags, run_name=f"try-{number}").info.run_id
        reported = math.inf if number == 21 else LIES.get(number, loss(**config))
        metrics = [] if number == 4 else [Metric("loss", reported, 0, 1), Metric("accuracy", 0.5, 0, 1)]
        client.log_batch(run, metrics, [Param(name, str(value)) for name, value in (config | texts).items()])
        client.set_terminated(run, "FINISHED" if metrics else "FAILED")
    alone = client.create_experiment("one metric", artifact_location=folder)
    for number in range(6):
        run = client.create_run(alone, start_time=number + 1).info.run_id
        client.log_metric(run, "reward", float(number))
    client.create_experiment("nothing", artifact_location=folder)
    return uri


@pytest.fixture(scope="module")
def report(store: str, tmp_path_factory: pytest.TempPathFactory) -> ForeignReport:
    made = experiment_report("Manual search", store, tmp_path_factory.mktemp("reports"), "loss", "min")
    assert isinstance(made, ForeignReport)
    return made


def test_every_run_is_a_trial_in_the_order_of_its_start(report: ForeignReport) -> None:
    frame = report.frame
    assert frame["run"].tolist() == [f"try-{n}" for n in range(30)]  # and not the parent
    assert frame["value"].isna().tolist() == [n == 4 for n in range(30)]
    assert frame["value"][21] == math.inf  # MLflow gave back 1.8e308
    best = frame["best_so_far"].to_numpy()
    assert best[9:].tolist() == [-20.0] * 21
    assert np.all(np.diff(best) <= 0)
    assert best[3] == frame["value"][:4].min()


def test_what_the_others_contradict_is_doubted_and_does_not_win(report: ForeignReport) -> None:
    doubted = report.suspects["number"].tolist()
    assert set(doubted) == {*LIES, 21}
    lie = report.frame.loc[9]
    assert lie["weight"] < 0.2
    truth = loss(lie["config/rate"], lie["config/dropout"])
    assert lie["expected"] == pytest.approx(truth, abs=0.3)
    assert report.believed is not None
    assert report.believed not in LIES
    assert report.frame["value"][report.believed] < 0.5
    assert report.frame["best_believed"].iloc[-1] == report.frame["value"].drop([*LIES, 4, 21]).min()


def test_parameters_that_vary_are_learned_from_and_the_rest_is_named(report: ForeignReport) -> None:
    told = report.described()
    assert list(told["modelled"]) == ["dropout", "optimizer", "rate"]
    assert told["modelled"]["rate"]["log"]
    assert not told["modelled"]["dropout"]["log"]
    assert told["modelled"]["optimizer"] == ["adam", "sgd"]
    assert told["left out"] == ["data", "epochs"]


def test_the_command_writes_the_page_the_figure_and_the_table(store: str, tmp_path: Path) -> None:
    command = ["report", "Manual search", "--from-mlflow", "--metric", "loss", "--mode", "min"]
    done = CliRunner().invoke(app, [*command, "--tracking-uri", store, "--root", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "30 runs" in done.output
    assert "try-9" in done.output
    folder = tmp_path / "Manual-search-from-mlflow"
    assert {p.name for p in folder.iterdir()} == {"report.html", "runs.csv", "learning.png", "learning.pdf"}
    page = (folder / "report.html").read_text()
    data = data_of(page)
    assert data["regret"]["title"] == "Learning curve"
    assert len(data["trials"]["columns"][0]["values"]) == 30
    assert "loss" in [column["name"] for column in data["trials"]["columns"]]
    low, high = data["forensics"]["values"]["range"]
    assert -2.0 < low < high < 5.0  # a typo does not flatten the picture


def test_without_parameters_there_is_a_curve_and_nothing_to_doubt(store: str, tmp_path: Path) -> None:
    made = experiment_report("one metric", store, tmp_path, mode="max")
    assert isinstance(made, ForeignReport)
    assert made.metric == "reward"
    assert made.frame["best_so_far"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert made.suspects.empty
    assert (made.folder / "report.html") in write_files(made)


def test_formulas_of_others_are_text_in_the_table(tmp_path: Path) -> None:
    told = {
        "run/name": ["=HYPERLINK(1)", "b"],
        "run/started": [0, 1],
        "run/status": "FINISHED",
        "config/@x": ["+1+1", "c"],
    }
    made = ForeignReport.of("theirs", DataFrame({**told, "score": [-1.0, 2.0]}), "score", "max", tmp_path)
    write_files(made)
    cells = [cell for row in csv_reader((tmp_path / "runs.csv").open(newline="")) for cell in row]
    assert {"'=HYPERLINK(1)", "'+1+1"} <= set(cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]


@pytest.mark.parametrize(
    ("name", "metric", "mode", "told"),
    [
        ("Manual search", None, "min", "has several metrics; choose one with --metric: accuracy, loss."),
        ("Manual search", "los", "min", "has no metric 'los'; did you mean 'loss'? Allowed: accuracy, loss."),
        ("Manual search", "loss", None, "is a high or a low 'loss' better? Say --mode max or --mode min."),
        ("Manual search", "loss", "low", "--mode 'low' must be max or min."),
        ("nothing", None, "max", "experiment 'nothing' holds no run with a metric: there is nothing to report."),
        ("Manual serch", None, "max", "did you mean 'Manual search'?"),
    ],
)
def test_what_is_missing_is_one_line(
    name: str, metric: str | None, mode: str | None, told: str, store: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as refusal:
        experiment_report(name, store, tmp_path, metric, mode)
    assert told in str(refusal.value)
    assert "\n" not in str(refusal.value)
