"""What an adversary may answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adversaries import Query, Report
from zoo.errors import Mute, error, recurse
from zoo.processes import hang


def _not_a_report(query: Query) -> Any:
    return 3.0


def _honest_liar(query: Query) -> Any:
    return Report(query.y + 1.0)  # changes the value and does not say so


def _overwrites(query: Query) -> Any:
    query.x[:] = np.nan
    return Report(-9.0, corrupted=True)


LIES: dict[str, Callable[[Query], Any]] = {
    "truth": lambda query: None,
    "lie": lambda query: Report(-5.0, corrupted=True),
    "inf": lambda query: Report(float("inf"), corrupted=True),
    "nan": lambda query: Report(float("nan"), corrupted=True),
    "np": lambda query: Report(np.float32(2.0), corrupted=np.True_),  # type: ignore[arg-type]
    "kill": lambda query: Report(query.y, corrupted=True, kill=True),
    "no report": _not_a_report,
    "honest liar": _honest_liar,
    "overwrites x": _overwrites,
    "words": lambda query: Report("high", corrupted=True),  # type: ignore[arg-type]
    "raises": lambda query: recurse(None),
    "mute": error(Mute()),  # type: ignore[dict-item]
    "exits": error(SystemExit(0)),  # type: ignore[dict-item]
    "hangs": hang,  # type: ignore[dict-item]
}
"""What a policy may answer."""


@dataclass(frozen=True)
class Mob:
    """An adversary that does one of `lies` at every trial, by luck."""

    lies: tuple[str, ...] = tuple(LIES)
    note: Mapping[str, Any] = field(default_factory=dict)

    def lie(self, query: Query, rng: np.random.Generator) -> Any:
        """Whatever the luck of the trial says."""
        return LIES[self.lies[int(rng.integers(len(self.lies)))]](query)
