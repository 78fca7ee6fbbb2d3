"""The end of a campaign in MLflow: means, report, notes."""

import json

import pytest
from tracked_runs import PLAN, Reader, tracked_run

from orchestrator.review.figures import PALETTE
from orchestrator.review.regret import trials_frame
from orchestrator.tracking.follower import sync


@pytest.fixture(scope="module")
def reader(store: str, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """A finished campaign against two adversaries, as MLflow holds it."""
    run = tracked_run(
        tmp_path_factory.mktemp("summary"), "summed", adversaries=["honest", *PLAN["adversaries"]], trials=4
    )
    sync(run, store)
    return Reader(store, run)


def test_the_summary_holds_the_report_and_no_charts(reader: Reader) -> None:
    (summary,) = reader.of_kind("summary")
    artifacts = {a.path for a in reader.client.list_artifacts(summary.info.run_id)}
    assert {"report.html", "regret.png", "regret.pdf", "regret.csv", "campaign.yaml"} <= artifacts
    assert summary.data.metrics == {}


def test_every_algorithm_has_its_mean_over_seeds_in_the_reports_colour(reader: Reader) -> None:
    means = {m.info.run_name: m for m in reader.of_kind("mean")}
    assert sorted(means) == [
        f"{algorithm}/{adversary} (mean)"
        for algorithm in ("a2-rcgp-ucb", "random")
        for adversary in ("clairvoyant", "honest")
    ]
    frame = trials_frame(reader.run)
    rows = frame[(frame["algorithm"] == "random") & (frame["adversary"] == "clairvoyant")]
    found = means["random/clairvoyant (mean)"]
    mean = rows.groupby("number")["cumulative_regret"].mean()
    assert reader.drawn(found, "cumulative_regret", mean.index) == pytest.approx(mean.to_dict())
    low, high = (reader.drawn(found, f"cumulative_regret_{edge}", mean.index) for edge in ("low", "high"))
    assert all(low[n] <= mean[n] <= high[n] for n in mean.index)
    assert found.data.metrics["final_cumulative_regret"] == pytest.approx(mean.iloc[-1])
    handed_over = rows.groupby("number")["recommended_regret"].mean().dropna()
    assert len(handed_over)
    assert reader.drawn(found, "recommended_regret", handed_over.index) == pytest.approx(handed_over.to_dict())
    assert found.data.metrics["final_recommended_regret"] == pytest.approx(handed_over.iloc[-1])
    assert found.data.params == {
        "algorithm": "random", "adversary": "clairvoyant", "objective": "forrester", "seeds": "2"
    }  # fmt: skip
    (dataset,) = found.inputs.dataset_inputs
    assert dataset.dataset.name == "forrester"
    shown = {m.data.tags["mlflow.runColor"] for m in means.values()}
    assert shown == set(PALETTE[:4])
    studies = [s for s in reader.of_kind("study") if s.data.tags["orchestrate.study"].startswith("random.clair")]
    assert {s.data.tags["mlflow.runColor"] for s in studies} == {found.data.tags["mlflow.runColor"]}


def test_the_note_says_what_came_out_and_the_link_opens_the_means(reader: Reader) -> None:
    note = reader.experiment.tags["mlflow.note.content"]
    assert note.startswith("Use x=")
    assert "| clairvoyant | random | 2 |" in note
    assert "viewStateShareKey=studies" in note
    view, studies = (json.loads(reader.experiment.tags[f"mlflow.sharedViewState.{v}"]) for v in ("regret", "studies"))
    assert view["searchFilter"] == "tags.`orchestrate.kind` = 'mean'"
    assert studies["searchFilter"] == "tags.`orchestrate.kind` = 'study'"
    assert [c["metricKey"] for c in view["compareRunCharts"]][:2] == ["cumulative_regret", "recommended_regret"]
    assert reader.experiment.tags["mlflow.experiment.primaryMetric.name"] == "final_cumulative_regret"
