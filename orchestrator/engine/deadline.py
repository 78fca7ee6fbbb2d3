"""The time limit of a trial. Ray and Tune know none: who evaluates what, since when, and what ends it.

Processes that evaluate for others are ended from outside, because one that is stopped or deep in native code hears
nothing. The caller's own process is not ended: there an alarm interrupts the trial.
"""

import os
import signal
import threading
import time
from collections.abc import Collection, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType


class OverTimeError(BaseException):
    """The trial took too long; not an `Exception`, which objectives catch."""


def exceeded(limit: float) -> str:
    """The reason of a trial that failed by its limit."""
    return f"over the time limit of {limit:g} s"


@dataclass(frozen=True)
class Process:
    """A process somewhere in the cluster."""

    node: str
    pid: int


class Deadlines:
    """Who evaluates what since when; ends the processes that take too long."""

    def __init__(self) -> None:
        self._begun: dict[Hashable, tuple[float, float, Process]] = {}
        self._ended: dict[Hashable, str] = {}

    def begin(self, key: Hashable, limit: float, process: Process, seconds: float = 0.0) -> None:
        """`process` evaluates `key` for `seconds` by now; one that is known already keeps its time."""
        self._begun.setdefault(key, (time.monotonic() - seconds, limit, process))

    def keep(self, keys: Collection[Hashable]) -> None:
        """Forget what is not evaluated any more."""
        self._begun = {key: entry for key, entry in self._begun.items() if key in keys}

    def enforce(self) -> None:
        """End the processes that are over their limit, each once."""
        for key, (since, limit, process) in list(self._begun.items()):
            if time.monotonic() - since > limit and key not in self._ended:
                self._ended[key] = exceeded(limit)
                end_process(process)

    def pop_reason(self, key: Hashable) -> str | None:
        """Why `key` was ended, if it was."""
        self._begun.pop(key, None)
        return self._ended.pop(key, None)


def end_process(process: Process) -> None:
    """Kill a process wherever it runs; one that is stopped or deep in native code dies too."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    if process.node == ray.get_runtime_context().get_node_id():
        _kill(process.pid)
        return
    there = NodeAffinitySchedulingStrategy(process.node, soft=False)
    with suppress(ray.exceptions.RayError):  # the node is gone, and the process with it
        ray.get(ray.remote(_kill).options(num_cpus=0, scheduling_strategy=there).remote(process.pid))


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):  # it may have ended on its own just now
        os.kill(pid, signal.SIGKILL)


@contextmanager
def alarm(seconds: float | None) -> Iterator[None]:
    """Interrupt the block after `seconds`, in the main thread only; native code is interrupted when it returns."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(signum: int, frame: FrameType | None) -> None:
        raise OverTimeError(exceeded(seconds))

    start, previous = time.monotonic(), signal.signal(signal.SIGALRM, ring)
    due, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if due:  # the caller has an alarm of its own, which rings when it would have
            signal.setitimer(signal.ITIMER_REAL, max(due - (time.monotonic() - start), 1e-6), interval)
