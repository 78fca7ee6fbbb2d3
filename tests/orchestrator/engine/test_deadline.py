"""The time limit of a trial, process by process; in the engines, test_engines.py and test_conductor.py hold it."""

import signal
import subprocess
import time

import pytest

from orchestrator.engine import deadline
from orchestrator.engine.deadline import Deadlines, OverTimeError, Process, alarm


@pytest.fixture
def ended(monkeypatch) -> list[Process]:
    found: list[Process] = []
    monkeypatch.setattr(deadline, "end_process", found.append)
    return found


def test_each_process_is_ended_once_and_says_why(ended):
    limits = Deadlines()
    limits.begin("slow", 5.0, Process("here", 1), seconds=6.0)
    limits.begin("quick", 5.0, Process("here", 2), seconds=4.0)
    for _ in range(3):
        limits.enforce()
    assert ended == [Process("here", 1)]
    assert limits.pop_reason("slow") == "over the time limit of 5 s"
    assert limits.pop_reason("slow") is None
    assert limits.pop_reason("quick") is None


def test_who_is_known_keeps_his_time_and_who_is_done_is_forgotten(ended):
    limits = Deadlines()
    limits.begin("a", 5.0, Process("here", 1), seconds=6.0)
    limits.begin("a", 5.0, Process("here", 1), seconds=0.0)
    limits.begin("b", 5.0, Process("here", 2), seconds=6.0)
    limits.keep({"a"})
    limits.enforce()
    assert ended == [Process("here", 1)]


@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
def test_a_stopped_process_ends_too_and_one_that_is_gone_is_no_error():
    import ray

    node = ray.get_runtime_context().get_node_id()
    process = subprocess.Popen(["sleep", "600"])
    process.send_signal(signal.SIGSTOP)
    for _ in range(2):
        deadline.end_process(Process(node, process.pid))
        assert process.wait(30) == -signal.SIGKILL
    deadline.end_process(Process("0" * 56, process.pid))  # a node that is gone took its processes with it


def test_an_alarm_gets_through_to_an_objective_that_catches_everything_it_may():
    def objective() -> None:
        while True:
            try:
                time.sleep(60)
            except Exception:
                continue

    with pytest.raises(OverTimeError, match=r"over the time limit of 0\.1 s"), alarm(0.1):
        objective()


def test_an_alarm_of_the_callers_own_rings_all_the_same():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *args: rung.append(args))
    due, interval = signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with alarm(3600.0):
            pass
        assert 0.0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 0.2
        with alarm(None):
            while not rung:
                time.sleep(0.01)
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, due, interval)
