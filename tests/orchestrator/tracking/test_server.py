"""MLflow's pages on this machine: reachable by us, with no secret on a command line."""

import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import free_port, postgres

from orchestrator.errors import UserError
from orchestrator.tracking.server import server


def command_lines() -> Iterator[str]:
    """Of every process of this machine, as anybody on it can read them."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_text(errors="replace")
        except OSError:
            continue


@pytest.mark.slow
def test_the_password_of_the_store_is_on_no_command_line() -> None:
    with postgres() as address:
        store, port = address.replace("tester@", "tester:hunter2@"), free_port()
        with server(store, port) as base, urllib.request.urlopen(f"{base}/health") as answer:
            lines = list(command_lines())
            assert answer.status == 200
    assert any(f"--port\0{port}" in line for line in lines)  # the server was among them
    assert not any("hunter2" in line for line in lines)


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UserError, match="choose another with --port"), server("sqlite://", taken.getsockname()[1]):
            pytest.fail("the block must not begin")


@pytest.mark.slow
def test_a_store_that_is_none_is_refused_in_one_line_without_its_password() -> None:
    with pytest.raises(UserError) as refusal, server("nothing://me:hunter2@there", free_port()):
        pytest.fail("the block must not begin")
    assert "\n" not in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


def family(pid: int) -> set[int]:
    """A process, its children and theirs."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {pid}.union(*(family(int(child)) for child in children))


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_the_pages_take_two_processes_and_end_with_their_terminal(sign: signal.Signals, tmp_path: Path) -> None:
    """MLflow's queues for jobs would be eight processes more."""
    command = [sys.executable, "-m", "orchestrator.cli", "ui", "--root", str(tmp_path), "--port", str(free_port())]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert "MLflow starts on sqlite:///" in process.stderr.readline(), "it says what it waits for"
    assert process.stdout.readline().startswith("http://127.0.0.1:")
    started = family(process.pid) - {process.pid}
    assert len(started) == 2
    process.send_signal(sign)
    assert process.wait(60) == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)
