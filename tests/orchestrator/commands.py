"""The command line in a process of its own, as the tests of every room call it."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("ORCHESTRATE_")} | {
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join(map(str, [HERE, HERE.parents[1]])),
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""One thread a process, no settings of whoever runs the tests, and the tests' own objectives and this checkout within reach."""


def hear_interrupts() -> None:
    """Whoever starts the tests in the background made them deaf to Ctrl-C: not so their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def launch(folder: Path, *arguments: str, **options: Any) -> "subprocess.Popen[str]":
    """`orchestrate` with these arguments, started in `folder`."""
    usual = {"env": ENVIRONMENT, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "preexec_fn": hear_interrupts}
    return subprocess.Popen(
        [sys.executable, "-m", "orchestrator.cli", *arguments], cwd=folder, text=True, **(usual | options)
    )


def orchestrate(
    folder: Path, *arguments: str, timeout: float = 240, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """The same, run to its end."""
    process = launch(folder, *arguments, **options)
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
