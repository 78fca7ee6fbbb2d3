"""The report of a run that is under way, as a browser asks for it."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest
from small_runs import cut_short, finished, started

from orchestrator.campaign.runs import Run
from orchestrator.errors import UserError
from orchestrator.review.live import LiveReport, LiveServer, seconds_left
from orchestrator.review.report import Report
from orchestrator.review.timing import timed
from orchestrator.review.webpage import data_of


@contextmanager
def served(run: Run) -> Iterator[LiveServer]:
    with LiveServer(run) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(server: LiveServer, path: str, host: str = "127.0.0.1") -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", path, headers={"Host": f"{host}:{server.server_port}"})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_the_page_and_then_only_what_is_new(tmp_path: Path) -> None:
    run = finished(tmp_path, seeds=1)
    whole = run.journal(run.studies[1]).read_bytes()
    cut_short(run, run.studies[1], 5)
    with served(run) as server:
        status, page = ask(server, "/")
        assert (status, data_of(page)["live"]["text"].startswith("29 of 36 trials.")) == (200, True)
        status, text = ask(server, "/data.json?version=0")
        data = json.loads(text)
        assert [(s["done"], s["state"]) for s in data["live"]["studies"]] == [
            (12, "complete"),
            (5, "running"),
            (12, "complete"),
        ]
        assert data["state"] == "Not finished: 29 of 36 trials."
        known = f"/data.json?version={data['live']['version']}"
        assert ask(server, known) == (204, "")
        run.journal(run.studies[1]).write_bytes(whole)
        status, text = ask(server, known)
        assert (status, json.loads(text)["live"]["studies"][1]["done"]) == (200, 12)


def test_before_the_first_trial_all_studies_wait(tmp_path: Path) -> None:
    _, data = LiveReport(started(tmp_path)).data()
    assert {study["state"] for study in data["live"]["studies"]} == {"waiting"}
    assert data["answer"] is None
    json.dumps(data, allow_nan=False)


def test_a_study_is_stopped_once_its_driver_has_left(tmp_path: Path) -> None:
    run = finished(tmp_path, seeds=1)
    cut_short(run, run.studies[0], 5)
    live = LiveReport(run)
    with timed(run) as marks:
        marks("running")
        assert live.data()[1]["live"]["studies"][0]["state"] == "running"
    assert live.data()[1]["live"]["studies"][0]["state"] == "stopped"


def test_nobody_else_is_answered(tmp_path: Path) -> None:
    with served(started(tmp_path)) as server:
        assert server.server_address[0] == "127.0.0.1"
        assert ask(server, "/", host="evil.example")[0] == 403
        assert ask(server, "/../run.json")[0] == 404
        with pytest.raises(UserError, match="cannot be used .*; choose another --port"):
            LiveServer(started(tmp_path, name="other"), server.server_port)


def test_the_time_left_is_told_while_a_session_is_under_way(tmp_path: Path) -> None:
    run = finished(tmp_path, seeds=1)
    began = Report.of(run).frame["at"].min() - 24.0
    cut_short(run, run.studies[2], 6)
    assert seconds_left(Report.of(run), run) is None
    with timed(run, began) as marks:
        marks("running")
        done = Report.of(run)
        spent = done.frame["at"].max() - began
        assert seconds_left(done, run) == pytest.approx(6 * spent / 30)
    assert seconds_left(Report.of(run), run) is None
    assert time.time() > began
