"""The desk where trials on other processes ask whether to go on: it is killed, and so are those who wait there."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from faulty import calls
from small_runs import HERE

from orchestrator.campaign.study import Component, Scheduler, Study
from orchestrator.engine.events import Event, Observation, RungReached, TrialFailed, of_type
from orchestrator.engine.history import observations
from orchestrator.engine.journal import FileJournal, read

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]
DESK, TRIAL = "ray::RungDesk", "ray::TrialActor"
"""What the processes of Ray call themselves."""


def study(folder: Path, **changes: object) -> Study:
    climbing = Component("climbing:Climbing", {"folder": str(folder), "seconds": 0.03})
    rule = Scheduler(grace=1, reduction=3.0, witnesses=2)
    known = {"trials": 20, "initial": 2, "workers": 2, "cpus": 0.5, "scheduler": rule}
    return Study(Component("random"), climbing, Component("crash", {"budget": 2}), **known | changes)


def run(wanted: Study, folder: Path) -> list[Event]:
    """Run a study with trial actors, directed from this process."""
    import ray

    from orchestrator.engine.parallel import run_parallel

    journal = FileJournal(folder / "study.jsonl")
    try:
        here = ray.get_runtime_context().get_node_id()
        assert run_parallel(wanted, journal, folder / "ledger.jsonl", node=here, paths=[str(HERE)])
    finally:
        journal.close()
    return read(folder / "study.jsonl")


def processes(title: str) -> list[psutil.Process]:
    """The processes of this test's own Ray whose title begins so."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            found += [process] if " ".join(process.cmdline()).startswith(title) else []
    return found


@contextmanager
def assassin(victims: Mapping[int, str], folder: Path) -> Iterator[list[str]]:
    """SIGKILL the process with each title once so many evaluations have begun; yields who was killed."""
    killed, over = list[str](), threading.Event()

    def strike(begun: int, title: str) -> None:
        while not over.wait(0.02):
            found = processes(title) if len(calls(folder)) >= begun else []
            if found:
                os.kill(found[0].pid, signal.SIGKILL)
                killed.append(title)
                return

    threads = [threading.Thread(target=strike, args=pair) for pair in victims.items()]
    for thread in threads:
        thread.start()
    try:
        yield killed
    finally:
        over.set()
        for thread in threads:
            thread.join()


def assert_decided_once(events: list[Event], wanted: Study) -> None:
    """Each trial is settled once, each rung decided once, and who was stopped ended there."""
    assert Counter(o.number for o in of_type(events, Observation)) == dict.fromkeys(range(wanted.total), 1)
    rungs = of_type(events, RungReached)
    assert len(rungs) == len({(r.number, r.step) for r in rungs})
    stopped = {o.number: len(o.progress) for o in observations(events) if o.stopped}
    assert stopped, "a test of stopping has somebody stopped"
    assert {r.number: r.step for r in rungs if r.stopped} == stopped
    for o in observations(events):
        asked = {r.step for r in rungs if r.number == o.number}
        assert asked == {step for step in (1, 3) if step <= len(o.progress)}, "nobody went on unasked"


@pytest.mark.slow  # a desk is back after some seconds, more on a busy machine
def test_a_desk_that_is_killed_is_asked_again_and_every_rung_is_decided_once(tmp_path):
    wanted = study(tmp_path)
    with assassin({3: DESK, 9: DESK, 15: DESK}, tmp_path) as killed:
        events = run(wanted, tmp_path)
    assert killed == [DESK] * 3
    assert_decided_once(events, wanted)
    assert not of_type(events, TrialFailed), "a lost desk is nobody's failed trial"
    assert len(calls(tmp_path)) == wanted.total, "and nothing runs again for it"


@pytest.mark.slow
def test_trials_killed_on_their_way_leave_nobody_at_the_desk(tmp_path):
    """More of them than the desk has threads, and the desk itself in between."""
    wanted = study(tmp_path, trials=16)
    with assassin({3: TRIAL, 5: TRIAL, 7: TRIAL, 8: DESK, 9: TRIAL, 11: TRIAL}, tmp_path) as killed:
        events = run(wanted, tmp_path)
    assert sorted(killed) == [DESK] + [TRIAL] * 5
    assert_decided_once(events, wanted)
    assert len(of_type(events, TrialFailed)) <= 5
