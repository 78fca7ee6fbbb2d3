"""What is known of the observations beside their values: how exact each is, who reported it, and what a person says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from rcgp.choices import unknown
from rcgp.gaussian import Array, Mask, Rows

Ruling = Literal["lie", "true"]
"""What a person says of an observation, whatever the model thinks."""

RULINGS: dict[str | None, int] = {"lie": -1, None: 0, "true": 1}
"""Rulings by name, as the column holds them; None takes one back."""

EQUAL = 0.25
"""So many of the values must be equal to others, beside the most frequent one, before they are taken for rounded."""

LARGEST_NOISE = 1e12
"""In units of the objective's variance: a report that is less exact than this says nothing, and larger numbers overflow."""


@dataclass(frozen=True)
class Evidence:
    """Columns beside `X` and `y`, all of shape `n`.

    `error` is the standard error of a report that has one of its own (a mean over folds, seeds, episodes), in the units of `y`,
    else 0. `reporter` numbers who reported it, -1 where that is unknown. `ruling` is -1 for a row that a person called a lie, 1
    for one called true, else 0.
    """

    error: Array
    reporter: Rows
    ruling: Rows

    @classmethod
    def none(cls, n: int) -> Self:
        """Nothing is known but the values."""
        return cls(np.zeros(n), np.full(n, -1), np.zeros(n, dtype=int))

    def __len__(self) -> int:
        return len(self.error)

    @property
    def condemned(self) -> Mask:
        """Which rows (`n`, boolean) a person called lies."""
        return self.ruling < 0

    @property
    def vouched(self) -> Mask:
        """Which rows (`n`, boolean) a person called true."""
        return self.ruling > 0

    def rows(self, rows: Mask | Rows | slice) -> Evidence:
        """Some of the rows: a mask, indices or a slice."""
        return Evidence(self.error[rows], self.reporter[rows], self.ruling[rows])

    def with_row(self, error: float, reporter: int) -> Evidence:
        """One more row, on which nobody has ruled yet."""
        return Evidence(np.append(self.error, error), np.append(self.reporter, reporter), np.append(self.ruling, 0))

    def with_ruling(self, row: int, ruling: str | None) -> Evidence:
        """The same, once a person has ruled on that row or (None) taken the ruling back."""
        if ruling not in RULINGS:
            raise ValueError(unknown("ruling", str(ruling), [name for name in RULINGS if name]))
        changed = self.ruling.copy()
        changed[row] = RULINGS[ruling]
        return replace(self, ruling=changed)

    def rounded_as(self, y: Array) -> Evidence:
        """The same, where reports `y` (`n`) that were rounded bring half a step of that as noise of their own."""
        step = resolution(y)
        return self if step == 0.0 else replace(self, error=np.hypot(self.error, 0.5 * step))

    def own_noise(self, unit: float) -> Array:
        """The noise variance (`n`) that each report brings itself, where `unit` is one deviation of the objective."""
        with np.errstate(over="ignore"):
            return np.minimum((self.error / unit) ** 2, LARGEST_NOISE)

    def to_data(self) -> dict[str, object]:
        """Plain data that strict JSON can hold."""
        columns = {"error": self.error, "reporter": self.reporter, "ruling": self.ruling}
        return {name: column.tolist() for name, column in columns.items()}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """What `to_data` wrote."""
        whole = (np.array(data[name], dtype=int) for name in ("reporter", "ruling"))
        return cls(np.array(data["error"], dtype=float), *whole)


def all_differ(y: Array) -> bool:
    """Whether no two of the values `y` (`n`) are equal: most have nothing else to be asked about that."""
    return len(set(y.tolist())) == len(y)


def resolution(y: Array) -> float:
    """The step that values `y` (`n`) seem to be rounded to: the least between two of them, if many are equal; else 0.

    Reports from one place that are equal by rounding would prove that there is no noise, and those a step away would be lies. One
    value that is reported again and again is no rounding.
    """
    if all_differ(y):
        return 0.0
    values, times = np.unique(y[np.isfinite(y)], return_counts=True)
    others = np.delete(times, np.argmax(times)) if len(times) else times
    if not len(others) or len(others) > (1.0 - EQUAL) * others.sum():
        return 0.0
    with np.errstate(over="ignore"):  # of 1e308 on either side: not the least
        return float(np.diff(values).min())
