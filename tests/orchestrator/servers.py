"""Real servers for the tests: MLflow on loopback, on sqlite or on a PostgreSQL of its own."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class MlflowServer:
    """`mlflow server`, which can be killed, frozen and started again on the same port and store."""

    def __init__(self, store: str, folder: Path) -> None:
        self.store, self.folder, self.port = store, folder, free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, wait: bool = True) -> "MlflowServer":
        options = ["--host", "127.0.0.1", "--port", str(self.port), "--workers", "1", "--backend-store-uri", self.store]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mlflow", "server", *options],
                cwd=self.folder,
                stdout=log,
                stderr=log,
                env=os.environ | QUIET,
                start_new_session=True,
            )
        if wait:
            self.wait()
        return self

    def wait(self, seconds: float = 180.0) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self.process is not None
            assert self.process.poll() is None, (self.folder / "server.log").read_text()
            try:
                with urllib.request.urlopen(f"{self.uri}/health", timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise TimeoutError("no MLflow server")

    def signal(self, sign: signal.Signals) -> None:
        """To the server and its workers: they are a process group of their own."""
        assert self.process is not None
        os.killpg(self.process.pid, sign)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGKILL)
            self.process.wait()


@contextmanager
def mlflow_server(store: str, folder: Path) -> Iterator[MlflowServer]:
    folder.mkdir(parents=True, exist_ok=True)
    server = MlflowServer(store, folder)
    try:
        yield server.start()
    finally:
        server.kill()


@contextmanager
def postgres() -> Iterator[str]:
    """The address of an empty database; the server refuses to run as root, so that root hands it to its own user."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    pytest.importorskip("psycopg2", reason="psycopg2-binary is not installed")
    folder, port = Path(tempfile.mkdtemp(prefix="orchestrate-pg-")), free_port()
    user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if user:
        shutil.chown(folder, "postgres")
    control = [*user, str(programs[-1] / "pg_ctl"), "-D", str(folder / "data")]
    try:
        initdb = [*user, str(programs[-1] / "initdb"), "-D", str(folder / "data"), "-U", "tester", "-A", "trust"]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder)
        settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        started = [*control, "-w", "-l", str(folder / "log"), "-o", settings, "start"]
        subprocess.run(started, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        yield f"postgresql+psycopg2://tester@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True, cwd=folder)
        shutil.rmtree(folder, ignore_errors=True)
