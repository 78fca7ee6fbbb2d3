"""MLflow as a view of the journals: everything once, to the last digit, whatever gets lost on the way."""

from pathlib import Path
from typing import Any

import mlflow
import pytest
from mlflow.exceptions import MlflowException
from servers import mlflow_server, postgres
from tracked_runs import Reader, assert_complete, slow_run, tracked_run

from orchestrator.engine import runner
from orchestrator.engine.history import observations_of
from orchestrator.experiments import StoreError
from orchestrator.review.regret import trials_frame
from orchestrator.tracking import store as stores
from orchestrator.tracking import tags
from orchestrator.tracking.follower import sync, tracked
from orchestrator.tracking.store import Store
from orchestrator.tracking.tracker import Tracker


def test_a_campaign_is_all_there_and_writing_it_again_changes_nothing(store: str, tmp_path: Path) -> None:
    run = tracked_run(tmp_path / "runs", "whole")
    assert sync(run, store).startswith("whole: 4 studies, 48 trials are in MLflow")
    assert_complete(store, run, tmp_path)
    before = counts(Reader(store, run))
    sync(run, store)
    assert counts(Reader(store, run)) == before
    reader = Reader(store, run)
    first = reader.study("a2-rcgp-ucb.clairvoyant.seed1")
    assert first.info.run_name == "a2-rcgp-ucb/seed1"
    expected = {
        "algorithm": "a2-rcgp-ucb",
        "seed": "1",
        "objective": "forrester",
        "adversary": "clairvoyant",
        "budget": "2",
    }
    assert expected.items() <= first.data.params.items()
    assert first.data.params["adversary.high"] == "25.0"
    found = first.data.tags
    assert found["mlflow.source.name"] == "orchestrate"
    assert found["orchestrate.campaign"] == tags.campaign_hash(run)
    assert found["mlflow.user"]
    assert len(found["mlflow.source.git.commit"]) == 40
    assert found["version.ray"]
    last = trials_frame(run).query("study == 'a2-rcgp-ucb.clairvoyant.seed1'").iloc[-1]
    assert first.data.metrics["final_cumulative_regret"] == last["cumulative_regret"]
    assert first.data.metrics["final_corrupted"] == 2.0
    assert first.data.tags["mlflow.note.content"].startswith("Use `x=")


def counts(reader: Reader) -> dict[str, int]:
    """How many rows each curve of each run has."""
    return {
        f"{r.info.run_id} {key}": len(reader.client.get_metric_history(r.info.run_id, key))
        for r in reader.runs
        for key in r.data.metrics
    }


def test_a_view_that_breaks_anywhere_is_completed_by_the_next(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The n-th request to MLflow fails after it was carried out, for every n: the answer is what gets lost."""
    run = tracked_run(tmp_path / "runs", "broken", seeds=1)
    monkeypatch.setattr(stores, "BATCH", 20)
    lost = {"after": 0, "seen": 0}

    def losing(name: str) -> Any:
        call = getattr(mlflow.MlflowClient, name)

        def request(*arguments: Any, **options: Any) -> Any:
            answer = call(*arguments, **options)
            lost["seen"] += 1
            if lost["seen"] == lost["after"]:
                raise MlflowException("the answer got lost")
            return answer

        return request

    for name in (
        "create_experiment",
        "create_run",
        "log_batch",
        "log_text",
        "set_tag",
        "set_terminated",
        "log_artifact",
    ):
        monkeypatch.setattr(mlflow.MlflowClient, name, losing(name))
    broken = 0
    for after in range(1, 60):
        lost.update(after=after, seen=0)
        try:
            Tracker(run, Store.open(store)).push(last=True)
        except StoreError:
            broken += 1
        else:
            break
    assert broken >= 10
    assert_complete(store, run, tmp_path)
    assert len(Reader(store, run).of_kind("summary")) == 1


def test_regret_waits_for_the_end_where_the_maximum_is_unknown_and_failures_are_flags(
    store: str, tmp_path: Path
) -> None:
    faults = {"5": "nan", "6": "inf", "7": "raise"}
    objective = {
        "name": "faulty:Faulty",
        "folder": str(tmp_path),
        "known": False,
        "faults": faults,
        "times": 9,
        "steps": 3,
    }
    run = tracked_run(
        tmp_path / "runs", "flawed", objective=objective, adversaries=["honest"], algorithms=["random"], seeds=1,
        tracking={"nested": True},
    )  # fmt: skip
    sync(run, store)
    assert_complete(store, run, tmp_path)
    reader = Reader(store, run)
    study = reader.study("random.honest.seed0")
    assert reader.curve(study, "observed_nan") == {5: 1.0, 7: 1.0}
    assert reader.curve(study, "observed_inf") == {6: 1.0}
    assert reader.curve(study, "failed")[7] == 1.0
    children = {int(r.data.tags["orchestrate.trial"]): r for r in reader.of_kind("trial")}
    assert sorted(children) == list(range(12))
    assert all(r.data.tags["mlflow.parentRunId"] == study.info.run_id for r in children.values())
    assert children[7].info.status == "FAILED"
    assert set(children[0].data.params) == {"a", "b"}
    seen = observations_of(run, run.studies[0])[0]
    assert reader.curve(children[0], "progress") == dict(seen.progress)


def test_an_interrupted_study_is_shown_as_such_and_goes_on(store: str, tmp_path: Path) -> None:
    run = tracked_run(tmp_path / "runs", "halved", seeds=1, algorithms=["random"])
    journal = run.journal(run.studies[0])
    whole = journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[: len(lines) // 2]))
    sync(run, store)
    study = Reader(store, run).study(run.studies[0].key)
    assert study.info.status == "KILLED"
    assert 0 < len(Reader(store, run).curve(study, "observed")) < run.studies[0].total
    journal.write_bytes(whole)
    sync(run, store)
    assert_complete(store, run, tmp_path)


def test_two_runs_of_one_name_get_an_experiment_each(store: str, tmp_path: Path) -> None:
    short = {"seeds": 1, "algorithms": ["random"], "trials": 2}
    runs = [tracked_run(tmp_path / folder, "twin", **short) for folder in ("one", "two")]
    for run in runs:
        sync(run, store)
        assert_complete(store, run, tmp_path)
    names = {Reader(store, run).experiment.name for run in runs}
    assert names == {"twin", "twin-2"}


@pytest.mark.slow
def test_a_campaign_on_postgresql_is_all_there(tmp_path: Path) -> None:
    with postgres() as database, mlflow_server(database, tmp_path / "server") as server:
        run = slow_run(tmp_path, "postgres", server.uri, tracking={"uri": server.uri, "nested": True, "required": True})
        with tracked(run) as follower:
            assert not runner.execute(run, ray=False).errors
        assert follower is not None
        assert follower.reason == ""
        assert_complete(server.uri, run, tmp_path)
        assert len(Reader(server.uri, run).of_kind("trial")) == 60
        direct = tracked_run(tmp_path / "runs", "direct", seeds=1)
        sync(direct, database)
        assert_complete(database, direct, tmp_path)
