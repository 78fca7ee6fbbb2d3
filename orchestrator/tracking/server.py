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
from orchestrator.tracking.follower import SETTINGS, store_uri, tracking_uri

HOST = "127.0.0.1"
START_SECONDS = 120.0
STORE = "MLFLOW_BACKEND_STORE_URI"
"""How the server hears of its store: everybody on a machine can read a command line, and this may hold a password."""


def serve(root: Path, run: Run | None, port: int, given: str | None = None) -> None:
    """Print the link that opens the run's charts, and keep a server on its store until interrupted."""
    os.environ.update({k: v for k, v in SETTINGS.items() if k not in os.environ})
    uri = tracking_uri(run, given) if run else given or store_uri(root)
    if uri.startswith("http"):
        print(_link(uri, uri, run), flush=True)
        return
    with server(uri, port) as base:
        print(f"{_link(base, uri, run)}\nCtrl-C ends it.", flush=True)
        _wait()


def _link(base: str, uri: str, run: Run | None) -> str:
    """The address of the run's charts, or of the list of experiments."""
    if run is None:
        return base
    from orchestrator.tracking.tracker import FAILURES, connect, link, own_experiment

    try:
        experiment = own_experiment(connect(uri), run)
    except FAILURES as error:
        raise UserError(f"MLflow at {redacted(uri)} cannot be read ({error}).") from error
    if experiment is None:
        raise UserError(
            f"{run.name} is not in MLflow at {redacted(uri)}; 'orchestrate sync {run.name}' writes it there."
        )
    return link(base, experiment)


@contextmanager
def server(uri: str, port: int) -> Iterator[str]:
    """`mlflow server` on a store, on the loopback interface; gone with everything it started when the block ends."""
    _check_free(port)
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1"]
    process = subprocess.Popen(
        command,
        env=dict(os.environ) | {STORE: uri},
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


def _wait() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return
