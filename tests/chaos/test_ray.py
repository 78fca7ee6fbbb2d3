"""Ray's own processes, killed: the run starts its Ray again, says so in one line, and nothing acknowledged is lost."""

import os
import time
from pathlib import Path

import pytest
from harness import (
    Driver,
    Row,
    audit,
    begun,
    descendants,
    enter_row,
    plan,
    settled,
    strike,
    times,
    title_of,
    wait_until,
)

from orchestrator.engine.runner import RESTARTS
from orchestrator.foreground import INTERRUPTED

CONTROL = "its control process (GCS) is gone"
NODE = "this machine's part of it (raylet) is gone"


@pytest.mark.parametrize(
    ("program", "words", "name", "seconds"),
    [
        ("gcs_server", CONTROL, "Ray's control process SIGKILL", 0.2),
        # Ray notices late, and what it does not notice in time is no harm
        ("raylet", NODE, "the driver's raylet SIGKILL", 8.0),
        ("ray::DashboardAgent", NODE, "an agent of the driver's raylet SIGKILL", 1.0),  # whose end is the raylet's
    ],
)
def test_a_process_of_ray_is_killed(tmp_path, program, words, name, seconds):
    """SIGKILL of what the driver started; it starts another, and completes the run."""
    kills, acknowledged, slowest = times(1, RESTARTS), set(), 0.0
    driver = start(tmp_path, trials=12 * kills, seconds=seconds)
    for i in range(kills):
        wait_until(lambda i=i: begun(tmp_path) > 10 * i + 6, driver)
        struck, acknowledged = time.time(), acknowledged | settled(tmp_path)
        strike_program(driver, program)
        wait_until(lambda i=i: driver.said.count("Another was started here") > i, driver)
        slowest = max(slowest, time.time() - struck)
    assert driver.finish() == 0, driver.said[-3000:]
    assert driver.said.count(f"Ray: {words}. Another was started here, and the run goes on.\n") == kills
    assert "Traceback" not in driver.said
    count = audit(tmp_path, acknowledged)
    enter_row(Row(name, kills, count.lost, count.doubled, count.overspent, slowest), kills)


@pytest.mark.skipif(not os.environ.get("CHAOS"), reason="only by make chaos, or with CHAOS=short: it takes minutes")
def test_a_ray_that_is_lost_again_and_again_ends_the_session(tmp_path):
    """One line, a true exit code, and the next session completes the run."""
    driver = start(tmp_path, trials=12 * (RESTARTS + 1), seconds=0.2)
    for i in range(RESTARTS + 1):
        wait_until(lambda i=i: begun(tmp_path) > 10 * i + 6, driver)
        strike_program(driver, "gcs_server")
        if i < RESTARTS:
            wait_until(lambda i=i: driver.said.count("Another was started here") > i, driver)
    assert driver.process.wait(120) == 1, driver.said[-3000:]
    last = driver.said.splitlines()[-2:]
    assert last[0] == f"error: Ray: {CONTROL}; every acknowledged result is in the journals"
    assert "continue with: orchestrate resume chaos" in last[1]
    acknowledged = settled(tmp_path)
    assert Driver(tmp_path, "resume", "chaos").finish() == 0, driver.said[-3000:]
    assert "Traceback" not in driver.said
    count = audit(tmp_path, acknowledged)
    assert (count.lost, count.doubled, count.overspent) == (0, 0, 0)


def test_a_driver_that_is_slow_to_leave_was_interrupted_all_the_same(tmp_path):
    """Ray aborts a process that is still there three seconds after a SIGTERM, unless it is told not to."""
    driver = start(tmp_path, trials=200, seconds=0.1, objective="lingering:Havoc")
    wait_until(lambda: settled(tmp_path), driver)
    driver.process.terminate()
    assert driver.process.wait(120) == INTERRUPTED, driver.said[-3000:]


def start(folder: Path, *, trials: int, seconds: float, objective: str = "havoc:Havoc") -> Driver:
    """A run with two workers."""
    options = {"name": objective, "folder": str(folder), "seconds": seconds}
    path = plan(folder, objective=options, workers=2, trials=trials, resources={"cpus": 0.5})
    return Driver(folder, "run", str(path))


def strike_program(driver: Driver, program: str) -> None:
    """SIGKILL a process of the driver's own Ray; one that it lost may not have ended yet, and is older."""
    found = [p for p in descendants(driver.process.pid) if title_of(p).partition(" ")[0].endswith(program)]
    assert strike(found[-1]), f"no {program}"
