"""An objective that learns step by step, and whose best configurations learn slowly; used by import path."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from faulty import enter

from objectives import ObjectiveBase, Parameter, Space


def reached(x: float, share: float) -> float:
    """Good ones (x near 0.8) are behind at first and best at the end."""
    good = float(np.exp(-((x - 0.8) ** 2) / 0.02))
    return 0.3 * (1 - good) * (1 - float(np.exp(-9 * share))) + good * share**2


@dataclass(frozen=True)
class Climbing(ObjectiveBase):
    """Reports after each of its `steps`; leaves a trace of every evaluation in `folder`, where there is one."""

    steps: int = 9
    folder: str = ""
    stubborn: bool = False
    """Whether it takes whatever is raised in a report for its own failure."""
    seconds: float = 0.0
    """What a step takes."""

    name = "climbing"
    space = Space((Parameter("x", 0.0, 1.0),))

    def evaluate(self, x: Any, rng: np.random.Generator, report: Callable[[int, float], None] | None = None) -> float:
        if self.folder:
            enter(Path(self.folder), np.asarray(x).tobytes().hex())
        value = 0.0
        for step in range(1, self.steps + 1):
            time.sleep(self.seconds)
            value = reached(float(np.asarray(x)[0]), step / self.steps) + 0.001 * float(rng.standard_normal())
            try:
                report and report(step, value)
            except Exception:
                if not self.stubborn:
                    raise
        return value
