"""Drivers of Tune that get SIGKILL at a known moment. Light imports only: every worker pays for them."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from glob import glob
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join((str(ROOT), str(Path(__file__).parent)))
ENVIRONMENT = {"TUNE_GLOBAL_CHECKPOINT_S": "0", "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": PATHS}


def start(script: Path, *arguments: str, checkpoint_seconds: float = 0) -> subprocess.Popen[bytes]:
    """A driver of its own; by default Tune saves its state whenever it can."""
    settings = {**os.environ, **ENVIRONMENT, "TUNE_GLOBAL_CHECKPOINT_S": str(checkpoint_seconds)}
    return subprocess.Popen([sys.executable, str(script), *arguments], env=settings, stderr=subprocess.DEVNULL)


def ran(folder: Path) -> int:
    """How many trials wrote their line."""
    log = folder / "ran"
    return len(log.read_text().splitlines()) if log.exists() else 0


def wait_at_the_gate(folder: Path, after: int) -> None:
    """What a trial does: once so many ran, the others wait until the driver was killed."""
    while ran(folder) >= after and not (folder / "go").exists():
        time.sleep(0.02)


def kill_at_the_gate(driver: subprocess.Popen[bytes], folder: Path, after: int) -> None:
    """SIGKILL for a driver when so many trials ran and Tune has written down what it will; the gate is open from then on."""
    try:
        wait_until_ran(driver, folder, after)
        stop_between_saves(driver, folder / "run")
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    (folder / "go").touch()


def wait_until_ran(driver: subprocess.Popen[bytes], folder: Path, count: int, seconds: float = 300) -> None:
    """Until so many trials of a living driver ran."""
    deadline = time.monotonic() + seconds
    while ran(folder) < count:
        assert driver.poll() is None, f"the driver ended after {ran(folder)} trials"
        assert time.monotonic() < deadline, f"{count} trials did not run within {seconds:g} s"
        time.sleep(0.05)


def stop_between_saves(driver: subprocess.Popen[bytes], run: Path, seconds: float = 120) -> None:
    """Halt the driver when what Tune wrote was copied to its storage: Tune itself cannot restore from half a state."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        driver.send_signal(signal.SIGSTOP)
        if is_copied(f"{tempfile.gettempdir()}/ray/session_*_{driver.pid}/artifacts/*/run/driver_artifacts", run):
            return
        driver.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    raise AssertionError("the driver was never between two saves")


def is_copied(staging: str, run: Path) -> bool:
    """Whether the three states that Tune keeps lie in the storage as they were written."""
    kinds = ("experiment_state", "search_gen_state", "searcher-state")
    written = [Path(name) for kind in kinds for name in glob(f"{staging}/{kind}-*")]
    pairs = [(file, run / file.name) for file in written]
    return len(pairs) == 3 and all(b.exists() and a.read_bytes() == b.read_bytes() for a, b in pairs)
