"""Regret over what trials spent, where some were stopped on their way."""

import json
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame
from small_runs import finished

from orchestrator.engine.history import events_of, observations
from orchestrator.review.page import page_data
from orchestrator.review.posterior import replay, rows_of
from orchestrator.review.report import Report
from orchestrator.review.resource import resource_curves
from orchestrator.tracking import entries
from orchestrator.tracking.charts import final_views


def test_seeds_are_compared_at_the_same_steps_spent() -> None:
    rows = [("a", 0, 0, 9.0, 5.0), ("a", 0, 1, 10.0, 2.0), ("a", 0, 2, 19.0, 1.0)]
    rows += [("a", 1, 0, 9.0, 7.0), ("a", 1, 1, 18.0, 4.0), ("a", 1, 2, 21.0, 0.0)]
    columns = ["algorithm", "seed", "number", "resource_spent", "simple_regret"]
    frame = DataFrame(rows, columns=columns).assign(adversary="honest")
    ((label, band),) = resource_curves(frame, 0, "simple_regret")
    assert label == "a"
    assert band["mean"].to_dict() == {9: 6.0, 18: 3.0, 19: 2.5} | dict.fromkeys(range(10, 18), 4.5)
    assert not list(resource_curves(frame.assign(resource_spent=np.nan), 0, "simple_regret"))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    plan = {"objective": "climbing:Climbing", "algorithms": ["gp-ucb", "random"], "adversaries": ["honest"], "seeds": 1}
    more = {"trials": 10, "initial": 3, "scheduler": {"name": "asha", "witnesses": 2}}
    return Report.of(finished(tmp_path_factory.mktemp("runs"), **plan, **more))


def test_a_report_shows_who_was_stopped_and_regret_by_steps(report: Report) -> None:
    frame = report.frame
    mine = frame[frame["study"] == report.studies[1].key]
    assert mine["stopped"].any()
    assert mine["resource_spent"].iloc[-1] == mine["resource"].sum() < 9 * len(mine)
    data = page_data(report)
    charts = data["regret"]["charts"]
    assert [chart.get("unit") for chart in charts].count("steps spent") == 1
    assert any("stopped" in word for column in data["trials"]["columns"] for word in map(str, column["values"]))
    table = report.by_study().set_index("study")
    assert table.loc[report.studies[1].key, "stopped"] == mine["stopped"].sum()
    assert report.campaign.scheduler is not None


def test_what_was_believed_is_told_again_with_the_curves(report: Report, tmp_path: Path) -> None:
    study = report.studies[0]
    optimizer = replay(study, report.objective, rows_of(report.frame, study), {})
    told = optimizer.state_dict()["curves"]["rows"]
    spent = {o.number: len(o.progress) / 9 for o in observations(events_of(report.run, study))}
    assert [shares[-1] for shares, _ in told] == pytest.approx([spent[n] for n in range(len(told))])


def test_mlflow_is_told_what_was_spent_and_regret_by_it(report: Report) -> None:
    study = report.studies[1]
    seen = entries.by_number(events_of(report.run, study))
    regrets = entries.regret_entries(seen, 1.0, 0.0, study.initial)
    rows = entries.resource_entries(seen, regrets)
    total = sum(len(o.progress) for o in seen)
    assert [row.value for row in rows if row.key == "resource_spent"][-1] == total
    assert [row.step for row in rows if row.key == "simple_regret_by_resource"][-1] == total
    assert sum(row.value for row in rows if row.key == "stopped") == sum(o.stopped for o in seen)
    views = [json.loads(view) for view in final_views(report.campaign).values()]
    assert all("by_resource" in json.dumps(view) for view in views)
