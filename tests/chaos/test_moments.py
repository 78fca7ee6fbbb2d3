"""One campaign, interrupted at seeded moments by kills of whatever runs it: its trials are those of an uninterrupted one."""

import json
import os
import random
import time
from pathlib import Path

import pytest
from faulty import calls
from harness import Driver, Row, audit, begun, descendants, enter_row, journals, plan, settled, strike, times, title_of

from orchestrator import session
from orchestrator.engine.events import Observation, of_type
from orchestrator.engine.journal import read

PROGRAMS = {"raylet": "raylet", "control": "gcs_server"}
"""Ray's own processes, without which nothing goes on."""
REFUSED = 2
KINDS = ("driver", "worker", *PROGRAMS)


@pytest.mark.skipif(not os.environ.get("CHAOS"), reason="only by make chaos, or with CHAOS=short: it takes minutes")
def test_interrupted_anywhere_the_trials_are_those_of_an_uninterrupted_run(tmp_path):
    """One worker: every number of every trial is the same, bit for bit."""
    kills = times(8, 30)
    objective = {"name": "havoc:Havoc", "folder": str(tmp_path), "seconds": 0.6}  # a study goes on until it notices
    path = plan(tmp_path, objective=objective, algorithms=["a2-rcgp-ucb"], trials=12 * kills, retries=100)
    driver, acknowledged, slowest = Driver(tmp_path, "run", str(path)), set(), 0.0
    struck = [KINDS[i % len(KINDS)] for i in range(kills)]
    rng = random.Random(30)
    rng.shuffle(struck)
    for kind in struck:
        driver = reach(tmp_path, driver, begun(tmp_path) + rng.randint(1, 3))
        time.sleep(rng.uniform(0.0, 0.1))  # asleep in the objective, thinking, or writing
        moment = time.time()
        driver = interrupt(tmp_path, driver, kind)
        acknowledged |= settled(tmp_path)
        driver = reach(tmp_path, driver, begun(tmp_path) + 1)
        slowest = max(slowest, time.time() - moment)
    assert driver.finish() == 0, driver.said[-3000:]
    assert "Traceback" not in driver.said
    count = audit(tmp_path, acknowledged)
    assert trials(journals(tmp_path)[0]) == trials(uninterrupted(tmp_path, path))
    note = "bit for bit the trials of an uninterrupted run"
    name = "driver, worker, raylet, GCS SIGKILL"
    enter_row(Row(name, kills, count.lost, count.doubled, count.overspent, slowest, note), kills)


def reach(folder: Path, driver: Driver, evaluations: int) -> Driver:
    """Wait until so many evaluations have begun, or the run is complete."""
    deadline = time.monotonic() + 300.0
    while begun(folder) < evaluations and driver.alive():
        assert time.monotonic() < deadline, f"nothing for 300 s: {driver.said[-3000:]}"
        time.sleep(0.005)
    return driver


def interrupt(folder: Path, driver: Driver, kind: str) -> Driver:
    """Kill; returns who goes on once the study does: this driver, which starts its Ray again, or one that resumes the run.

    A study that runs needs no raylet to go on: the driver is killed after it.
    """
    before = sessions(folder)
    struck = strike(victim(folder, driver, kind))
    if not struck or kind == "worker":
        return driver
    if kind == "control":
        return taken_up(folder, driver, before)
    driver.kill()
    return resumed(folder)


def taken_up(folder: Path, driver: Driver, before: int) -> Driver:
    """Wait until the study was taken up more often than `before`, or the driver ended."""
    while driver.process.poll() is None and sessions(folder) == before:
        time.sleep(0.02)
    return driver


def resumed(folder: Path) -> Driver:
    """The driver that takes the run up again, once its study does; orphans of the last one may hold it for some seconds."""
    deadline, before = time.monotonic() + 60.0, sessions(folder)
    while True:
        driver = taken_up(folder, Driver(folder, "resume", "chaos"), before)
        if driver.process.poll() != REFUSED:
            return driver
        assert time.monotonic() < deadline, f"in use for 60 s: {driver.said[-1000:]}"
        time.sleep(1.0)


def sessions(folder: Path) -> int:
    """How often the study was taken up."""
    return sum(path.read_bytes().count(b'"kind":"session"') for path in journals(folder))


def victim(folder: Path, driver: Driver, kind: str) -> int:
    """The process of that kind."""
    if kind == "driver":
        return driver.process.pid
    if kind == "worker":
        return calls(folder)[-1][1]
    below = descendants(driver.process.pid)
    return next(p for p in below if title_of(p).partition(" ")[0].endswith(PROGRAMS[kind]))


def uninterrupted(folder: Path, path: Path) -> Path:
    """The journal of the same campaign, run in this process without a fault."""
    alone = folder / "alone"
    alone.mkdir()
    campaign = json.loads(path.read_text())
    campaign["objective"] |= {"folder": str(alone), "seconds": 0.0}
    session.run(campaign, root=alone / "runs", ray=False)
    return journals(alone)[0]


def trials(path: Path) -> list[tuple[object, ...]]:
    """All that was asked, measured, told and believed."""
    found = of_type(read(path), Observation)
    return [(o.number, o.x, o.y, o.y_true, o.value, o.corrupted, o.failed, o.weight) for o in found]
