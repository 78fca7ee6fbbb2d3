"""The report of a run that is under way: a page on this machine alone that keeps itself up to date."""

import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qs, urlsplit

from orchestrator.campaign.runs import Run
from orchestrator.engine.history import events_of, planned
from orchestrator.errors import UserError
from orchestrator.review.page import empty_data, page_data
from orchestrator.review.report import Report
from orchestrator.review.timing import sessions
from orchestrator.review.webpage import Data, page, to_json

HOST = "127.0.0.1"
REFRESH_SECONDS = 3.0
SHARE = 0.1
"""The share of its time that the server may spend on gathering what a page shows."""


class LiveReport:
    """What the page shows now, gathered again only when the journals have grown."""

    def __init__(self, run: Run) -> None:
        self._run, self._lock = run, Lock()
        self._version: str | None = None
        self._data: Data = {}

    def data(self) -> tuple[str, Data]:
        """The version of what is known, and everything the page shows of it."""
        with self._lock:
            version, began = self._now(), time.monotonic()
            if version != self._version:
                report = Report.of(self._run, live=True)
                shown = empty_data(report) if report.frame.empty else page_data(report)
                seconds = max(REFRESH_SECONDS, (time.monotonic() - began) / SHARE)
                live = progress(report, self._run) | {"version": version, "seconds": seconds}
                self._version, self._data = version, shown | {"live": live}
            return version, self._data

    def _now(self) -> str:
        """Changes with every trial and with every mark of the driver."""
        files = [*sorted(self._run.journals.iterdir()), *self._run.folder.glob("timing.jsonl")]
        return "-".join(str(path.stat().st_size) for path in files)


def progress(report: Report, run: Run) -> Data:
    """How far each study is, and how long the rest may take."""
    counts = {} if report.frame.empty else report.frame["study"].value_counts().to_dict()
    begun = "stopped" if any(session.ended for session in sessions(run)[-1:]) else "running"
    studies = [
        _far(study.key, int(counts.get(study.key, 0)), planned(study, events_of(run, study)), begun)
        for study in run.studies
    ]
    left = seconds_left(report, run)
    pace = "" if left is None else f", about {left:.0f} s left" if left < 120 else f", about {left / 60:.0f} min left"
    return {"text": f"{report.done:,} of {report.total:,} trials{pace}.", "studies": studies}


def _far(key: str, done: int, total: int, begun: str) -> Data:
    state = "waiting" if not done else begun if done < total else "complete"
    return {"study": key, "done": done, "total": total, "state": state}


def seconds_left(report: Report, run: Run) -> float | None:
    """What the trials that are missing take at the pace of the session under way; None where there is none."""
    latest = sessions(run)[-1:]
    if report.frame.empty or not latest or latest[0].ended is not None or latest[0].outcome:
        return None
    began = latest[0].started
    fresh = report.frame.loc[report.frame["at"] > began, "at"]
    return None if fresh.empty else (report.total - report.done) * (float(fresh.max()) - began) / len(fresh)


class LiveServer(ThreadingHTTPServer):
    """Serves one run's page and its data, to this machine alone; port 0 takes any that is free."""

    daemon_threads = True

    def __init__(self, run: Run, port: int = 0) -> None:
        self.report = LiveReport(run)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise UserError(
                f"port {port} on {HOST} cannot be used ({error.strerror}); choose another --port."
            ) from None

    @property
    def link(self) -> str:
        """The address to open."""
        return f"http://{HOST}:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: LiveServer

    def do_GET(self) -> None:
        """The page, or what is new since the version that it shows."""
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        asked = urlsplit(self.path)
        if host not in (HOST, "localhost"):  # a page of somebody else's that has its name point here
            self._answer(HTTPStatus.FORBIDDEN)
        elif asked.path == "/":
            self._answer(HTTPStatus.OK, "text/html", page(self.server.report.data()[1]))
        elif asked.path == "/data.json":
            version, data = self.server.report.data()
            known = parse_qs(asked.query).get("version") == [version]
            self._answer(HTTPStatus.NO_CONTENT) if known else self._answer(
                HTTPStatus.OK, "application/json", to_json(data)
            )
        else:
            self._answer(HTTPStatus.NOT_FOUND)

    def _answer(self, status: HTTPStatus, kind: str = "text/plain", text: str = "") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal is for the link."""
