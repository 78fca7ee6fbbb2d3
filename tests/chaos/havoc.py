"""An objective that breaks at chosen points and notes when it did; used by import path."""

import math
import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from faulty import Faulty, enter, misbehave
from square import quadratic

from objectives import ObjectiveBase, Parameter, Space

MORE = 64 << 20
"""Bytes a process may still take when its memory is to run out."""


@dataclass(frozen=True)
class Fault:
    """A fault that happened: the point it happened at, what it was, and when."""

    point: str
    kind: str
    at: float


class Havoc(Faulty):
    """`Faulty`, whose faults leave their moment behind; one spelt `exit always` spares no try."""

    def evaluate(self, x: Any, rng: np.random.Generator, report: Any = None) -> Any:
        point = np.asarray(x).tobytes().hex()
        index, tries = enter(Path(self.folder), point)
        time.sleep(self.seconds)
        kind, _, always = self.faults.get(str(index), "").partition(" ")
        if not kind or (tries and not always):
            with (Path(self.folder) / "done").open("a") as file:
                file.write(f"{point}\n")
            return quadratic(x) + 0.01 * float(rng.standard_normal())
        with (Path(self.folder) / "faults").open("a") as file:
            file.write(f"{point} {kind}{always} {time.time()}\n")
        return exhaust() if kind == "allocate" else misbehave(kind)


@dataclass(frozen=True, kw_only=True)
class Liar(ObjectiveBase):
    """A hill between -1 and 0; a machine whose environment says LYING adds one of the `lies` to that share of its reports."""

    name: ClassVar[str] = "liar"
    folder: str
    share: float = 0.4
    lies: tuple[float, ...] = (30.0,)

    @property
    def space(self) -> Space:
        return Space((Parameter("x", 0.0, 1.0), Parameter("z", 0.0, 1.0)))

    def evaluate(self, x: Any, rng: np.random.Generator, report: Any = None) -> float:
        turn = self._take_turn()
        due = math.floor(turn * self.share) > math.floor((turn - 1) * self.share)  # by turns: chance would be flaky
        lie = float(rng.choice(self.lies)) if due and os.environ.get("LYING") else 0.0
        return float(-np.sum((np.asarray(x) - (0.3, 0.7)) ** 2)) + 0.01 * float(rng.standard_normal()) + lie

    def _take_turn(self) -> int:
        """Wait for the other machine, which may start late: both are to report about as often. How many this one has had."""
        turns = Path(self.folder) / "turns"
        turns.mkdir(exist_ok=True)
        mine, until = turns / os.environ["ORCHESTRATE_REPORTER"], time.monotonic() + 60.0
        with mine.open("a") as file:
            file.write(".")
        while time.monotonic() < until:
            counts = [path.stat().st_size for path in turns.iterdir()]
            if len(counts) > 1 and mine.stat().st_size <= min(counts) + 2:
                break
            time.sleep(0.02)
        return mine.stat().st_size


def exhaust() -> int:
    """Take more memory than there is; the limit is this process's own and lifted again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE, hard))
    try:
        return len(bytearray(16 * MORE))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def done(folder: Path) -> list[str]:
    """The points of all evaluations that came to their end, in order."""
    file = folder / "done"
    return file.read_text().split() if file.exists() else []


def faults(folder: Path) -> list[Fault]:
    """Every fault so far."""
    file = folder / "faults"
    lines = file.read_text().splitlines() if file.exists() else []
    return [Fault(point, kind, float(at)) for point, kind, at in (line.split() for line in lines)]
