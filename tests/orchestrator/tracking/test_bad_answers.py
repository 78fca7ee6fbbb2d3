"""An MLflow that answers, but not as it should: one line, a run that goes on, and a `sync` that brings everything later."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tracked_runs import assert_complete, slow_run, tracked_run

from orchestrator.engine import runner
from orchestrator.errors import UserError
from orchestrator.tracking.follower import sync, tracked

SHORT: dict[str, Any] = {"seeds": 1, "trials": 2, "algorithms": ["random"]}
PAGE = "<!DOCTYPE html>\n<html><body><h1>Internal Server Error</h1>\n<p>nginx</p></body></html>"


@contextmanager
def answering(code: int, kind: str, body: str) -> Iterator[str]:
    """The address of a server that has one answer to everything."""

    class Always(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_GET

        def log_message(self, *arguments: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Always)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("code", "kind", "body", "said"),
    [
        (401, "text/plain", "You are not authenticated.", "401"),
        (500, "text/html", PAGE, "500"),
        (200, "text/html", PAGE, "DOCTYPE"),
        (200, "application/json", "[]", ""),
        (200, "application/json", '{"experiments": 7}', "experiments"),
    ],
)
def test_a_strange_answer_is_one_line(code: int, kind: str, body: str, said: str, tmp_path: Path) -> None:
    run = tracked_run(tmp_path / "runs", "strange", **SHORT)
    with answering(code, kind, body) as uri, pytest.raises(UserError, match=f"MLflow at {uri}: ") as caught:
        sync(run, uri)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_run_goes_on_beside_a_server_that_answers_pages_of_errors(store: str, tmp_path: Path) -> None:
    with answering(500, "text/html", PAGE) as uri:
        run = slow_run(tmp_path, "paged", uri, seconds=0.0, **SHORT, tracking={"uri": uri})
        with tracked(run) as follower:
            assert not runner.execute(run, ray=False).errors
    assert follower is not None
    assert "500" in follower.reason
    sync(run, store)
    assert_complete(store, run, tmp_path)


def test_a_run_goes_on_beside_a_database_that_another_process_holds(store: str, tmp_path: Path) -> None:
    run = slow_run(tmp_path, "locked", store, seconds=0.0, **SHORT, tracking={"uri": store})
    held = sqlite3.connect(store.removeprefix("sqlite:///"), isolation_level=None)
    held.execute("BEGIN EXCLUSIVE")
    try:
        with tracked(run) as follower:
            assert not runner.execute(run, ray=False).errors
    finally:
        held.close()
    assert follower is not None
    assert "database is locked" in follower.reason
    sync(run)
    assert_complete(store, run, tmp_path)
