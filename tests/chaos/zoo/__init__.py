"""Nasty objectives and adversaries, used by import path: whatever people's code does to the process that runs it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from typing import Any

import numpy as np
from square import Square, quadratic

from zoo.errors import RAISED, Deed
from zoo.mob import LIES, Mob
from zoo.processes import DEATHS, DONE, HANGS, REPORTED
from zoo.values import DOUBTFUL, NONSENSE, VALUES

__all__ = ["DEATHS", "DEEDS", "HANGS", "LIES", "End", "Mob", "Zoo"]


class End(Enum):
    """What a trial must come to."""

    VALUE = "a value"
    FAILED = "a failure with a reason"
    EITHER = "either, and the study goes on"


def _returning(make: Callable[[], Any]) -> Deed:
    return lambda report: make()


DEEDS: dict[str, tuple[Deed, End]] = (
    {name: (_returning(make), End.VALUE) for name, make in VALUES.items()}
    | {name: (_returning(make), End.FAILED) for name, make in NONSENSE.items()}
    | {name: (_returning(make), End.EITHER) for name, make in DOUBTFUL.items()}
    | {name: (deed, End.FAILED) for name, deed in RAISED.items()}
    | {name: (deed, End.VALUE) for name, deed in DONE.items()}
    | {name: (deed, End.EITHER) for name, deed in REPORTED.items()}
    | {name: (deed, End.FAILED) for name, deed in (HANGS | DEATHS).items()}
)
"""Everything an evaluation may do, and what its trial must come to."""


@dataclass(frozen=True)
class Zoo(Square):
    """A quadratic; which of its points misbehave, and how, follows from the point alone."""

    deeds: tuple[str, ...] = ()
    share: float = 0.6
    """Of all points, how many misbehave."""
    known: bool = True
    seconds: float = 0.0

    name = "zoo"

    def deed_at(self, x: Any) -> str:
        """What happens at a point; nothing is the empty string."""
        luck = sha256(np.asarray(x, dtype=np.float64).tobytes()).digest()
        misbehaves = self.deeds and int.from_bytes(luck[:4]) < self.share * 2**32
        return self.deeds[int.from_bytes(luck[4:8]) % len(self.deeds)] if misbehaves else ""

    def evaluate(self, x: Any, rng: np.random.Generator, report: Any = None) -> Any:
        """The quadratic, or whatever the deed at this point gives."""
        time.sleep(self.seconds)
        deed, y = self.deed_at(x), quadratic(x) + 0.01 * float(rng.standard_normal())
        if deed == "x overwritten":
            x[:] = np.nan
        return DEEDS[deed][0](report) if deed else y
