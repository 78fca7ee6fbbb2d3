"""An objective that misbehaves on cue, and leaves a trace of every evaluation; used by import path."""

import fcntl
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from square import Square, quadratic


@dataclass(frozen=True)
class Faulty(Square):
    """A quadratic whose points, in order of first appearance, suffer `faults` for their first `times` tries."""

    folder: str
    faults: Mapping[str, str] = field(default_factory=dict)
    """From a point's place in the order (a string: JSON has no other keys) to what goes wrong there."""
    times: int = 1
    seconds: float = 0.0
    known: bool = True
    steps: int = 0

    name = "faulty"

    def evaluate(self, x: Any, rng: np.random.Generator, report: Any = None) -> Any:
        index, tries = enter(Path(self.folder), np.asarray(x).tobytes().hex())
        time.sleep(self.seconds)
        value = quadratic(x) + 0.01 * float(rng.standard_normal())
        for step in range(1, self.steps + 1):
            report(step, value * step)
        if str(index) in self.faults and tries < self.times:
            return misbehave(self.faults[str(index)])
        return value


def enter(folder: Path, key: str) -> tuple[int, int]:
    """Leave a trace; returns the point's place in the order of first appearance, and its tries before this one."""
    with (folder / "calls").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = [k for k, _ in calls(folder)]
        file.write(f"{key} {os.getpid()}\n")
    order = list(dict.fromkeys([*before, key]))
    return order.index(key), before.count(key)


def calls(folder: Path) -> list[tuple[str, int]]:
    """Every evaluation so far: its point, and the process it ran in."""
    file = folder / "calls"
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [(line.split()[0], int(line.split()[1])) for line in lines]


def misbehave(fault: str) -> Any:
    """Do what the test asks for."""
    returns = {
        "nan": float("nan"),
        "inf": float("inf"),
        "-inf": float("-inf"),
        "huge": 1.7e308,
        "-huge": -1.7e308,
        "none": None,
        "str": "0.97",
        "bool": True,
        "list": [1.0],
    }
    if fault in returns:
        return returns[fault]
    if fault == "raise":
        raise ZeroDivisionError("on cue")
    if fault == "exit":
        os._exit(1)
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if fault == "hang":
        time.sleep(3600)
    if fault == "memory":
        raise MemoryError("on cue")
    raise AssertionError(f"unknown fault {fault!r}")
