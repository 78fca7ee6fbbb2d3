"""A soak: one parallel study, and a random fault every few seconds until it is done. Beside it, Tune by itself."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from faulty import calls
from harness import (
    ENVIRONMENT,
    LONG,
    REMARKS,
    Driver,
    Row,
    audit,
    begun,
    descendants,
    enter_row,
    kill_tree,
    named,
    plan,
    settled,
    strike,
    times,
)
from havoc import done

TRIALS = times(60, 400)
PAUSE = (1.5, 4.0)


def test_soak(tmp_path):
    objective = {"name": "havoc:Havoc", "folder": str(tmp_path), "seconds": 0.4}
    limits = {"trial_seconds": 6.0}
    path = plan(tmp_path, objective=objective, trials=TRIALS - 4, workers=2, retries=50, limits=limits)
    rng, faults, acknowledged, start = random.Random(10), Counter(), set(), time.time()
    driver = Driver(tmp_path, "run", str(path), "--set", "resources.cpus=0.5")
    while _works(driver, rng.uniform(*PAUSE)):
        if begun(tmp_path) <= sum(faults.values()):  # let it get somewhere between two faults
            continue
        fault = rng.choice(["worker killed", "worker killed", "worker frozen", "adversary killed", "driver killed"])
        if fault == "driver killed":
            if faults[fault] == times(1, 12):
                continue
            driver.kill()
            acknowledged |= settled(tmp_path)
            driver = Driver(tmp_path, "resume", "chaos")
            faults[fault] += 1
        else:
            faults[fault] += _strike(fault, driver, tmp_path)
    assert driver.finish() == 0, driver.said[-3000:]
    count, seconds = audit(tmp_path, acknowledged), time.time() - start
    note = f"{TRIALS} trials in {seconds:.0f} s, {len(done(tmp_path)) - TRIALS} evaluations done again; " + ", ".join(
        f"{n} x {what}" for what, n in faults.items() if n
    )
    enter_row(Row("soak", faults.total(), count.lost, count.doubled, count.overspent, note=note), times(4, 40))


def _works(driver: Driver, seconds: float) -> bool:
    """Let the driver work for a while; returns whether it is still at it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and driver.alive():
        time.sleep(0.05)
    return driver.alive()


def _strike(fault: str, driver: Driver, folder: Path) -> bool:
    if fault == "adversary killed":
        return any(strike(pid) for pid in named(driver.process.pid, "ray::AdversaryActor"))
    below = set(descendants(driver.process.pid))
    at_work = [pid for _, pid in calls(folder)[-2:] if pid in below]
    return bool(at_work) and strike(at_work[-1], signal.SIGSTOP if fault == "worker frozen" else signal.SIGKILL)


@pytest.mark.skipif(not LONG, reason="for comparison only; CHAOS=long runs it")
def test_the_same_on_tune_by_itself(tmp_path):
    """Workers and drivers killed as above; Tune's own restore goes on. Finished trials that are run again are counted."""
    rng, faults, start = random.Random(10), Counter(), time.time()
    driver = _bare(tmp_path)
    while driver.poll() is None and time.time() - start < 1200:
        time.sleep(rng.uniform(*PAUSE))
        fault = rng.choice(["worker killed", "worker killed", "driver killed"])
        if driver.poll() is not None or not done(tmp_path):
            continue
        if fault == "driver killed" and faults[fault] < 12:
            driver.kill()
            driver.wait()
            driver = _bare(tmp_path)
        elif fault == "worker killed":
            below = set(descendants(driver.pid))
            if not any(strike(pid) for _, pid in calls(tmp_path)[-1:] if pid in below):
                continue
        faults[fault] += 1
    ended = driver.poll()
    if ended is None:
        kill_tree(driver.pid)
    again = len(done(tmp_path)) - TRIALS
    what = ", ".join(f"{n} x {fault}" for fault, n in faults.items())
    REMARKS.append(
        f"Tune by itself: {TRIALS} trials in {time.time() - start:.0f} s, exit code {ended}, {again} evaluations done"
        f" again; {what}"
    )


def _bare(folder: Path) -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("bare_tune.py")
    with (folder / "tune.log").open("ab") as log:
        command = [sys.executable, str(script), str(folder), str(TRIALS)]
        return subprocess.Popen(command, env=ENVIRONMENT, cwd=folder, stdout=log, stderr=log)
