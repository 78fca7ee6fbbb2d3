"""Tracking beside a run: on a real server, and whatever may happen to it."""

import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from servers import MlflowServer, mlflow_server
from tracked_runs import Reader, assert_complete, slow_run

from orchestrator.campaign.runs import Run
from orchestrator.engine import runner
from orchestrator.errors import UserError
from orchestrator.tracking.follower import Follower, sync, tracked
from orchestrator.tracking.writer import HEARTBEAT_TIMEOUT, Status


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


def test_the_means_are_there_before_the_report_and_that_is_made_once(store: str, tmp_path: Path) -> None:
    run = slow_run(tmp_path, "reported", store, seconds=0.0)
    with tracked(run) as follower:
        assert follower is not None
        assert not runner.execute(run, ray=False).errors
        follower.announce_end()
        deadline = time.monotonic() + 90.0
        while not Reader(store, run).of_kind("mean") and time.monotonic() < deadline:
            time.sleep(0.2)
        assert len(Reader(store, run).of_kind("mean")) == 1
        time.sleep(2.0)
        assert Reader(store, run).of_kind("summary") == []
        page = run.folder / "report" / "report.html"
        assert not page.exists(), "the writer draws what the driver is drawing"
        page.parent.mkdir(exist_ok=True)
        page.write_text("made by the driver")
    assert follower.reason == ""
    assert_complete(store, run, tmp_path)
    (summary,) = Reader(store, run).of_kind("summary")
    artifacts = Reader(store, run).client.list_artifacts(summary.info.run_id)
    assert {a.path for a in artifacts} == {"report.html", "campaign.yaml"}


def test_a_writer_that_is_gone_can_be_told_of_the_end(store: str, tmp_path: Path) -> None:
    run = slow_run(tmp_path, "gone", store, seeds=1, trials=2, seconds=0.0, tracking={"uri": store})
    with tracked(run) as follower:
        assert follower is not None
        follower._process.kill()
        follower._process.wait()
        follower.announce_end()
    assert "its process ended" in follower.reason


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
    assert farewell < HEARTBEAT_TIMEOUT[Status.ANSWERED] + 2.0
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
    farewell = time.monotonic() - start
    assert follower is not None
    assert follower.reason == "not done after 0.2 s"
    start = time.monotonic()
    sync(run)
    assert farewell < time.monotonic() - start, "less than what was left to do"
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
