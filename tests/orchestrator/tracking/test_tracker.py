"""MLflow as a view of the journals: everything once, to the last digit, whatever happens to the server."""

import json
import math
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from servers import MlflowServer, mlflow_server, postgres

from orchestrator.campaign.campaign import Campaign
from orchestrator.campaign.runs import Run
from orchestrator.engine import runner
from orchestrator.engine.history import observations_of
from orchestrator.engine.journal import Record
from orchestrator.errors import UserError, redacted
from orchestrator.review.files import write_files
from orchestrator.review.report import Report, trials_frame
from orchestrator.tracking import entries
from orchestrator.tracking.follower import SILENCE, Follower, one_line, sync, tracked, tracking_uri

HERE = Path(__file__).parents[1]
CURVES = {
    "observed": "y",
    "true_value": "y_true",
    "corrupted": "corrupted",
    "failed": "failed",
    "weight": "weight",
    "best_so_far": "best_so_far",
    "simple_regret": "simple_regret",
    "cumulative_regret": "cumulative_regret",
}


def begin(folder: Path, name: str, **changes: Any) -> Run:
    """A run that is ready to start."""
    plan = {
        "name": name,
        "description": "A test.",
        "objective": "forrester",
        "algorithms": ["a2-rcgp-ucb", "random"],
        "adversaries": [{"name": "clairvoyant", "budget": 2, "low": -10.0, "high": 25.0}],
        "seeds": 2,
        "trials": 8,
        "initial": 4,
    } | changes
    return runner.start(Campaign.from_dict(plan), root=folder, paths=[str(HERE)])


def finished(folder: Path, name: str, **changes: Any) -> Run:
    run = begin(folder, name, **changes)
    assert not runner.execute(run, ray=False).errors
    return run


# --- what MLflow is told, without MLflow ------------------------------------------------------------------------------


def observation(number: int, y: float, at: float) -> Record:
    return {
        "kind": "observation",
        "number": number,
        "attempt": 0,
        "x": [0.5],
        "y": y,
        "y_true": 1.0,
        "value": 1.0,
        "corrupted": False,
        "failed": False,
        "seconds": 0.1,
        "node": "",
        "at": at,
    }


def test_a_trial_counts_once_it_and_all_before_it_are_judged() -> None:
    records = [observation(0, 1.0, 10.0), observation(2, 3.0, 11.0)]
    assert entries.judged(records) == []
    records.append({"kind": "suggestion", "number": 3, "weights": {"2": 0.25}})
    assert [t.observation.number for t in entries.judged(records)] == [0]
    records += [observation(1, 2.0, 12.0), {"kind": "suggestion", "number": 4, "weights": {"2": 1.0, "1": 0.5}}]
    trials = entries.judged(records)
    assert [(t.observation.number, t.first_weight, t.suspects) for t in trials] == [
        (0, 1.0, 1),
        (1, 0.5, 1),
        (2, 0.25, 1),
    ]
    assert trials[2].observation.weight == 1.0  # rehabilitated since


def test_what_is_not_finite_becomes_a_flag() -> None:
    assert dict(entries.number("observed", math.inf)) == {"observed_inf": 1.0}
    assert dict(entries.number("observed", -math.inf)) == {"observed_inf": -1.0}
    assert dict(entries.number("observed", math.nan)) == {"observed_nan": 1.0}
    assert dict(entries.number("observed", 1e300)) == {"observed": 1e300}


def test_credentials_are_never_shown() -> None:
    assert redacted("postgresql+psycopg2://me:secret@db/mlflow") == "postgresql+psycopg2://***@db/mlflow"
    assert "secret" not in one_line(ValueError("cannot reach http://me:secret@host:5000/api"))


def test_a_clients_long_story_is_one_line() -> None:
    story = "API request failed with exception Pool(host='there'): Max retries exceeded with url: /api (Caused by {})"
    assert (
        one_line(OSError(story.format("NewConnectionError('[Errno 111] Connection refused')"))) == "connection refused"
    )
    assert one_line(OSError(story.format("SSLError('no')"))) == "SSLError('no')"


def test_the_store_is_the_campaigns_then_the_environments_then_beside_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    plain, named = begin(tmp_path, "a"), begin(tmp_path, "b", tracking={"uri": "http://there:1"})
    assert tracking_uri(plain) == f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://here:1")
    assert tracking_uri(plain) == "http://here:1"
    assert tracking_uri(named) == "http://there:1"
    assert tracking_uri(named, "http://given:1") == "http://given:1"


# --- reading back -----------------------------------------------------------------------------------------------------


class Reader:
    """Everything MLflow holds of a run, through its own client."""

    def __init__(self, uri: str, run: Run) -> None:
        from mlflow import MlflowClient

        from orchestrator.tracking.tracker import own_experiment

        self.client, self.run = MlflowClient(uri), run
        found = own_experiment(self.client, run)
        assert found is not None
        self.experiment = self.client.get_experiment(found)
        self.runs = self.client.search_runs([found], max_results=5000)

    def of_kind(self, kind: str) -> list[Any]:
        return [r for r in self.runs if r.data.tags["orchestrate.kind"] == kind]

    def study(self, key: str) -> Any:
        (found,) = [r for r in self.of_kind("study") if r.data.tags["orchestrate.study"] == key]
        return found

    def curve(self, run: Any, key: str) -> dict[int, float]:
        history = self.client.get_metric_history(run.info.run_id, key)
        curve = {m.step: m.value for m in history}
        assert len(curve) == len(history), f"{key}: a trial appears twice"
        return curve

    def table(self, run: Any, folder: Path) -> list[dict[str, Any]]:
        path = Path(self.client.download_artifacts(run.info.run_id, "trials.json", str(folder)))
        table = json.loads(path.read_text())
        return [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]


def assert_complete(uri: str, run: Run, folder: Path) -> None:
    """Every trial of the journals is in MLflow exactly once, and all curves are equal to the last digit."""
    reader, frame = Reader(uri, run), trials_frame(run)
    assert len(reader.of_kind("study")) == len(run.studies)
    for study in run.studies:
        rows, found = frame[frame["study"] == study.key], reader.study(study.key)
        assert found.info.status == "FINISHED"
        for key, column in CURVES.items():
            finite = rows[np.isfinite(rows[column].astype(float))]
            expected = dict(zip(finite["number"], finite[column].astype(float), strict=True))
            assert reader.curve(found, key) == expected, (study.key, key)
        assert len(reader.curve(found, "suspects")) == study.total
        table = reader.table(found, folder)
        assert [row["number"] for row in table] == list(range(study.total))
        assert [float(row["y"]) for row in table] == pytest.approx(rows["y"].tolist(), nan_ok=True, abs=0, rel=0)
        params = [name for name in rows.columns if name.startswith("param.")]
        assert all([row[p] for row in table] == rows[p].tolist() for p in params)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A local store, made once: MLflow's migrations take seconds."""
    from orchestrator.tracking.tracker import connect

    uri = f"sqlite:///{tmp_path_factory.mktemp('store') / 'mlflow.db'}"
    connect(uri)
    return uri


def test_a_campaign_is_all_there_and_writing_it_again_changes_nothing(store: str, tmp_path: Path) -> None:
    run = finished(tmp_path / "runs", "whole")
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
    tags = first.data.tags
    assert tags["mlflow.source.name"] == "orchestrate"
    assert tags["orchestrate.campaign"] == entries.campaign_hash(run)
    assert tags["mlflow.user"]
    assert len(tags["mlflow.source.git.commit"]) == 40
    assert tags["version.ray"]
    last = trials_frame(run).query("study == 'a2-rcgp-ucb.clairvoyant.seed1'").iloc[-1]
    assert first.data.metrics["final_cumulative_regret"] == last["cumulative_regret"]
    assert first.data.metrics["final_corrupted"] == 2.0


def counts(reader: Reader) -> dict[str, int]:
    """How many rows each curve of each run has."""
    return {
        f"{r.info.run_id} {key}": len(reader.client.get_metric_history(r.info.run_id, key))
        for r in reader.runs
        for key in r.data.metrics
    }


def test_the_summary_and_the_note_say_what_came_out(store: str, tmp_path: Path) -> None:
    run = finished(tmp_path / "runs", "summed")
    sync(run, store)
    reader = Reader(store, run)
    (summary,) = reader.of_kind("summary")
    artifacts = {a.path for a in reader.client.list_artifacts(summary.info.run_id)}
    assert {"report.html", "regret.png", "regret.pdf", "regret.csv", "campaign.yaml"} <= artifacts
    frame = trials_frame(run)
    mean = frame[frame["algorithm"] == "random"].groupby("number")["cumulative_regret"].mean()
    assert reader.curve(summary, "mean_cumulative_regret/random") == pytest.approx(mean.to_dict())
    low = reader.curve(summary, "mean_cumulative_regret/random.low")
    assert all(low[n] <= mean[n] for n in low)
    note = reader.experiment.tags["mlflow.note.content"]
    assert note.startswith("Least cumulative regret: ")
    assert "| clairvoyant | random | 2 |" in note
    view = json.loads(reader.experiment.tags["mlflow.sharedViewState.regret"])
    assert view["compareRunCharts"][0]["metricKey"] == "cumulative_regret"
    assert view["groupBy"]["groupByKeys"] == [{"mode": "param", "groupByData": "algorithm"}]


def test_a_view_that_breaks_anywhere_is_completed_by_the_next(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The n-th request to MLflow fails after it was carried out, for every n: the answer is what gets lost."""
    import mlflow
    from mlflow.exceptions import MlflowException

    from orchestrator.tracking import tracker

    run = finished(tmp_path / "runs", "broken", seeds=1)
    monkeypatch.setattr(tracker, "BATCH", 20)
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
            tracker.View(run, tracker.connect(store), store).push(last=True)
        except MlflowException:
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
    run = finished(
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
    run = finished(tmp_path / "runs", "halved", seeds=1, algorithms=["random"])
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
    runs = [finished(tmp_path / folder, "twin", **short) for folder in ("one", "two")]
    for run in runs:
        sync(run, store)
        assert_complete(store, run, tmp_path)
    names = {Reader(store, run).experiment.name for run in runs}
    assert names == {"twin", "twin-2"}


def test_our_experiments_read_back_as_trials_and_as_a_report(store: str, tmp_path: Path) -> None:
    from orchestrator.experiments import experiment_frame
    from orchestrator.tracking.tracker import experiment_report

    run = finished(tmp_path / "runs", "readable")
    sync(run, store)
    table = experiment_frame("readable", store)
    expected = trials_frame(run)
    assert table["config/x"].tolist() == expected["param.x"].tolist()
    assert table["observed"].tolist() == expected["y"].tolist()
    report = experiment_report("readable", store, tmp_path / "elsewhere")
    assert report.table.equals(Report.of(run).table)
    columns = ["study", "number", "y", "weight", "simple_regret", "cumulative_regret", "param.x"]
    assert report.frame[columns].equals(expected[columns])
    assert (tmp_path / "elsewhere/readable-from-mlflow/report.html") in write_files(report)
    with pytest.raises(UserError, match="no experiment 'readible'; did you mean 'readable'"):
        experiment_report("readible", store, tmp_path)


# --- a real server, and what may happen to it -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, store: str) -> Iterator[MlflowServer]:
    with mlflow_server(store, tmp_path_factory.mktemp("server")) as running:
        yield running


def slow_run(folder: Path, name: str, uri: str, seconds: float = 0.2, **changes: Any) -> Run:
    """Sixty trials that sleep, so that what tracking costs can be seen."""
    objective = {"name": "faulty:Faulty", "folder": str(folder), "seconds": seconds}
    given = {
        "objective": objective,
        "adversaries": ["honest"],
        "algorithms": ["random"],
        "trials": 26,
        "tracking": {"uri": uri, "required": True},
    }
    return begin(folder / "runs", name, **(given | changes))


def timed(run: Run) -> tuple[float, Follower | None]:
    """Seconds of the campaign, once the follower is there, and the follower."""
    with tracked(run) as follower:
        start = time.monotonic()
        assert not runner.execute(run, ray=False).errors
        seconds = time.monotonic() - start
    return seconds, follower


def test_a_campaign_is_followed_on_a_server_while_it_runs(server: MlflowServer, tmp_path: Path) -> None:
    run = slow_run(tmp_path, "followed", server.uri)
    _, follower = timed(run)
    assert follower is not None
    assert follower.reason == ""
    assert_complete(server.uri, run, tmp_path)
    (summary,) = Reader(server.uri, run).of_kind("summary")
    assert "report.html" in {a.path for a in Reader(server.uri, run).client.list_artifacts(summary.info.run_id)}


def test_a_server_that_is_not_there_is_one_warning_or_a_refusal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    uri = "http://me:secret@127.0.0.1:9"
    run = slow_run(tmp_path, "away", uri, seeds=1, trials=2, tracking={"uri": uri})
    _, follower = timed(run)
    assert follower is not None
    assert follower.reason == "connection refused"
    warnings = [r.getMessage() for r in caplog.records if "MLflow" in r.getMessage()]
    assert len(warnings) == 1
    assert "secret" not in warnings[0]
    with pytest.raises(UserError, match="127.0.0.1:9: connection refused"):
        sync(run)
    strict = slow_run(
        tmp_path, "strict", "http://127.0.0.1:9", tracking={"uri": "http://127.0.0.1:9", "required": True}
    )
    with pytest.raises(UserError, match="tracking is required"), tracked(strict):
        pytest.fail("the block must not begin")


MINUTE: dict[str, Any] = {"seconds": 3.0, "trials": 6}
"""Twenty long trials: a machine with much else to do adds a little to each."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Seconds of a minute's campaign that nobody tracks."""
    folder = tmp_path_factory.mktemp("plain")
    seconds, _ = timed(slow_run(folder, "plain", "", **MINUTE, tracking={"enabled": False}))
    return seconds


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["killed", "frozen"])
def test_no_campaign_waits_for_a_server_that_dies_or_hangs(
    fault: str, plain: float, store: str, tmp_path: Path
) -> None:
    """The whole duration counts, the farewell to a server that is still away included."""
    with mlflow_server(store, tmp_path / "server") as server:
        run = slow_run(tmp_path, fault, server.uri, **MINUTE)
        with tracked(run) as follower:
            trouble = threading.Thread(target=_trouble, args=(server, fault, plain))
            trouble.start()
            start = time.monotonic()
            assert not runner.execute(run, ray=False).errors
        whole = time.monotonic() - start
        assert follower is not None
        assert follower.reason  # it knows that something is missing
        assert whole < 1.05 * plain
        trouble.join()
        server.wait()
        sync(run)
        assert_complete(server.uri, run, tmp_path)
        assert len(Reader(server.uri, run).of_kind("summary")) == 1


@pytest.mark.slow
def test_a_server_that_hangs_at_the_very_end_is_left_after_a_few_seconds(server: MlflowServer, tmp_path: Path) -> None:
    run = slow_run(tmp_path, "late", server.uri, seconds=0.0)
    try:
        with tracked(run) as follower:
            assert not runner.execute(run, ray=False).errors
            server.signal(signal.SIGSTOP)
            start = time.monotonic()
        farewell = time.monotonic() - start
    finally:
        server.signal(signal.SIGCONT)
    assert follower is not None
    assert follower.reason in ("read timed out", "no answer")
    assert farewell < SILENCE["ok"] + 2.0
    sync(run)
    assert_complete(server.uri, run, tmp_path)


def test_the_end_of_a_run_waits_for_a_slow_server_no_longer_than_the_campaign_says(
    server: MlflowServer, tmp_path: Path
) -> None:
    tracking = {"uri": server.uri, "required": True, "patience": 0.2}
    run = slow_run(tmp_path, "hasty", server.uri, seconds=0.0, tracking=tracking)
    with tracked(run) as follower:
        assert not runner.execute(run, ray=False).errors
        start = time.monotonic()
    assert time.monotonic() - start < 2.0  # the figures alone take longer than the patience
    assert follower is not None
    assert follower.reason == "not done after 0.2 s"
    sync(run)
    assert_complete(server.uri, run, tmp_path)


def _trouble(server: MlflowServer, fault: str, plain: float) -> None:
    """From a third of the campaign until after its end the server does not answer."""
    time.sleep(plain / 3)
    if fault == "killed":
        server.kill()
        time.sleep(plain)
        server.start(wait=False)
    else:
        server.signal(signal.SIGSTOP)
        time.sleep(plain)
        server.signal(signal.SIGCONT)


@pytest.mark.slow
def test_a_campaign_on_postgresql_is_all_there(tmp_path: Path) -> None:
    with postgres() as database, mlflow_server(database, tmp_path / "server") as server:
        run = slow_run(tmp_path, "postgres", server.uri, tracking={"uri": server.uri, "nested": True, "required": True})
        _, follower = timed(run)
        assert follower is not None
        assert follower.reason == ""
        assert_complete(server.uri, run, tmp_path)
        assert len(Reader(server.uri, run).of_kind("trial")) == 60
        direct = finished(tmp_path / "runs", "direct", seeds=1)
        sync(direct, database)
        assert_complete(database, direct, tmp_path)
