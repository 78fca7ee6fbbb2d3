"""Failures in the report: which they are, why, where, and that nothing is said where none failed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_runs import finished

from orchestrator.review.failures import kind_of
from orchestrator.review.files import write_files
from orchestrator.review.foreign import ForeignReport
from orchestrator.review.page import page_data
from orchestrator.review.report import Report


def failing(folder: Path, parameters: int, **options: Any) -> Report:
    """A small run of an objective that diverges above a learning rate of 0.1, and is out of memory above 0.5."""
    objective = {"name": "failing:Failing", "parameters": parameters, **options}
    algorithms = ["random", "a2-rcgp-ucb"]
    run = finished(folder, objective=objective, algorithms=algorithms, adversaries=["honest"], trials=12, retries=0)
    return Report.of(run)


@pytest.mark.parametrize("parameters", [1, 4])
def test_a_region_is_shown_along_the_parameter_that_tells_it(tmp_path: Path, parameters: int) -> None:
    report = failing(tmp_path, parameters)
    shown = page_data(report)["failures"]
    rate = report.frame["param.rate"].to_numpy()
    assert report.failures is not None
    assert dict(report.failures.kinds) == {"NaN": ((rate > 0.1) & (rate <= 0.5)).sum(), "memory": (rate > 0.5).sum()}
    assert "only where rate > 0." in shown["words"]
    assert ["memory", "MemoryError: the batch did not fit"] in [row[:2] for row in shown["table"]["rows"]]
    assert "no influence on a2-rcgp-ucb: the algorithm's option regions" in shown["hint"]
    (line,) = shown["lines"]
    assert (line["name"], line["scale"]) == ("rate", "log")
    assert len(line["failed"]["detail"]) == report.failures.failed
    success = dict(zip(line["axis"], line["success"], strict=True))
    assert success[line["axis"][0]] > 0.7
    assert success[line["axis"][-1]] < 0.3
    assert shown["map"] is None
    json.dumps(shown, allow_nan=False)


def test_two_parameters_are_a_map(tmp_path: Path) -> None:
    shown = page_data(failing(tmp_path, 2))["failures"]
    assert shown["lines"] == []
    by_rate = np.array(shown["map"]["success"]).reshape([len(axis) for axis in shown["map"]["axes"]]).mean(axis=1)
    assert by_rate[0] > 0.7
    assert by_rate[-1] < 0.3
    assert len(shown["map"]["failed"]["x"]) == 2


def test_failures_without_a_place_are_said_to_have_none(tmp_path: Path) -> None:
    report = failing(tmp_path, 1, at_random=True)
    assert report.failures is not None
    assert report.failures.kinds[0][0] == "crash"
    assert "strike at random" in str(report.failures)
    success = page_data(report)["failures"]["lines"][0]["success"]
    assert max(success) - min(success) < 0.2


def test_a_script_finds_every_failure_and_its_reason(tmp_path: Path) -> None:
    report = failing(tmp_path, 4)
    assert "failures.json" in {path.name for path in write_files(report)}
    found = json.loads((report.folder / "failures.json").read_text())
    assert report.failures is not None
    assert found["in_words"] == str(report.failures)
    assert found["telling"][0]["parameter"] == "rate"
    assert "high" not in found["telling"][0]
    assert len(found["failures"]) == found["failed"] == report.failures.failed
    assert {f["kind"] for f in found["failures"]} == {"NaN", "memory"}
    assert all(f["parameters"]["rate"] > 0.1 for f in found["failures"])


def test_an_honest_nan_is_a_failure_everywhere_and_nowhere_a_suspect(tmp_path: Path) -> None:
    report = failing(tmp_path, 4)
    shown = page_data(report)
    assert report.failures is not None
    assert shown["cards"][-1]["label"] == f"in 4 studies, {report.failures.failed} failed"
    assert report.by_study()["failed"].sum() == report.failures.failed
    assert report.evidence == []
    table = {column["name"]: column["values"] for column in shown["trials"]["columns"]}
    assert table["what"].count("failed") == report.failures.failed


def test_where_nothing_failed_nothing_is_said(tmp_path: Path) -> None:
    report = Report.of(finished(tmp_path, algorithms=["a2-rcgp-ucb"], seeds=1))
    assert report.frame["corrupted"].any()  # a lie is no failure
    assert page_data(report)["failures"] is None
    assert "failures.json" not in {path.name for path in write_files(report)}


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("over the time limit of 3 s", "time-out"),
        ("TimeoutError: no answer", "time-out"),
        ("MemoryError: on cue", "memory"),
        ("OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "memory"),
        ("its process died (OutOfMemoryError)", "memory"),
        ("its process died (WorkerCrashedError)", "killed"),
        ("killed by the adversary", "killed"),
        ("TypeError: the objective returned '0.97' (str), not a number", "no number"),
        ("ZeroDivisionError: on cue", "crash"),
        ("", "crash"),
    ],
)
def test_a_reason_is_a_word(reason: str, kind: str) -> None:
    assert kind_of(reason) == kind


def test_runs_of_others_that_failed_are_told_too(tmp_path: Path) -> None:
    rate = np.geomspace(1e-4, 1.0, 40)
    broken = rate > 0.05
    runs = pd.DataFrame(
        {
            "run/name": [f"try-{i}" for i in range(40)],
            "run/started": range(40),
            "run/status": np.where(broken, "FAILED", "FINISHED"),
            "config/rate": rate,
            "score": np.where(broken, np.nan, np.log(rate)),
        }
    )
    runs.loc[0, ["run/status", "score"]] = ["RUNNING", np.nan]  # not over, and so no failure
    report = ForeignReport.of("theirs", runs, "score", "max", tmp_path)
    assert str(report.failures).startswith(f"{broken.sum()} of 39 trials failed (crash): only where rate > ")
    assert ForeignReport.of("theirs", runs[~broken], "score", "max", tmp_path).failures is None
