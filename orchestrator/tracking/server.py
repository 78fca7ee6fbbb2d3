"""MLflow's own pages, on this machine only, opened where a reviewer should begin."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.campaign.runs import Run
from orchestrator.errors import UserError, redacted
from orchestrator.tracking.address import store_uri, tracking_uri
from orchestrator.tracking.experiment import charts_page, own_experiment
from orchestrator.tracking.store import CLIENT_SETTINGS, Store

HOST = "127.0.0.1"
START_SECONDS = 120.0
STORE = "MLFLOW_BACKEND_STORE_URI"
"""How the server hears of its store: everybody on a machine can read a command line, and this may hold a password."""
SERVER_SETTINGS = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
"""MLflow's job queues are eight more processes, for scorers and traces that nobody here has."""
ENDS = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end the server as Ctrl-C does: asked to, or because the terminal is gone."""


def serve(root: Path, run: Run | None, port: int, given: str | None = None) -> None:
    """Print the link that opens the run's charts, and keep a server on its store until interrupted."""
    for end_signal in ENDS:
        signal.signal(end_signal, signal.default_int_handler)
    uri = tracking_uri(run, given) if run else given or store_uri(root)
    try:
        page = _page(uri, run)
        if uri.startswith("http"):
            print(f"{uri.rstrip('/')}/{page}", flush=True)
        else:
            _serve_store(uri, port, page)
    except KeyboardInterrupt:
        return


def _serve_store(uri: str, port: int, page: str) -> None:
    print(f"MLflow starts on {redacted(uri)}; this takes some seconds ...", file=sys.stderr, flush=True)
    with server(uri, port) as base:
        print(f"{base}/{page}\nCtrl-C ends it.", flush=True)
        while True:
            time.sleep(3600)


def _page(uri: str, run: Run | None) -> str:
    """The page to open within MLflow: the run's charts, or the list of experiments. Refused when there is no store."""
    if run is None and uri.startswith("http"):
        return ""
    store = Store.open(uri, request_seconds=30)
    experiment = own_experiment(store, run) if run else None
    if run and experiment is None:
        raise UserError(
            f"{run.name} is not in MLflow at {redacted(uri)}; 'orchestrate sync {run.name}' writes it there."
        )
    return charts_page(experiment) if experiment else ""


@contextmanager
def server(uri: str, port: int) -> Iterator[str]:
    """`mlflow server` on a store, on the loopback interface; gone with everything it started when the block ends."""
    _check_free(port)
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1"]
    process = subprocess.Popen(
        command,
        env=CLIENT_SETTINGS | SERVER_SETTINGS | dict(os.environ) | {STORE: uri},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _await(process, f"http://{HOST}:{port}")
        yield f"http://{HOST}:{port}"
    finally:
        end(process)


def end(process: "subprocess.Popen[str]") -> None:
    """End a server and its workers, which are a process group of their own."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            process.wait(10)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise UserError(f"port {port} on {HOST}: {error.strerror}; choose another with --port.") from None


def _await(process: "subprocess.Popen[str]", base: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            assert process.stderr is not None
            said = process.stderr.read().strip().splitlines() or ["no message"]
            raise UserError(f"mlflow server ended at once: {redacted(said[-1])}")
        try:
            with urllib.request.urlopen(f"{base}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise UserError(f"mlflow server did not answer at {base} within {START_SECONDS:g} s.")
