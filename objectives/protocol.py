"""What every objective offers. Anything with these members can be maximised; no base class is needed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from objectives.space import Space

Progress = Callable[[int, float], None]
"""Called with (step, value) while an evaluation runs, steps counted from 1; it may raise to stop the evaluation."""


@dataclass(frozen=True)
class Optimum:
    """A maximiser `x` in the unit cube and the maximum `value` there, without noise."""

    x: tuple[float, ...]
    value: float


class Measured(float):
    """A value that knows its own standard error: the mean over folds, seeds or episodes. Everywhere else it is a float."""

    standard_error: float

    def __new__(cls, value: float, standard_error: float) -> Self:
        """The `value`, measured with that standard error; one that is not finite or negative is none."""
        made = super().__new__(cls, value)
        made.standard_error = float(standard_error)
        return made

    def __reduce__(self) -> tuple[type[Self], tuple[float, float]]:
        return type(self), (float(self), self.standard_error)


@dataclass(frozen=True)
class Resources:
    """What one evaluation would like to have; a hint for whoever schedules it."""

    cpus: float = 1.0
    gpus: float = 0.0


@runtime_checkable
class Objective(Protocol):
    """A noisy function on the unit cube, to be maximised."""

    @property
    def name(self) -> str:
        """The word it is registered under."""

    @property
    def space(self) -> Space:
        """The named parameters."""

    @property
    def dim(self) -> int:
        """The number of parameters."""

    @property
    def optimum(self) -> Optimum | None:
        """The known maximum, or None."""

    @property
    def resources(self) -> Resources:
        """What one evaluation needs."""

    def evaluate(self, x: ArrayLike, rng: np.random.Generator, report: Progress | None = None) -> float:
        """One noisy value at `x`, `Measured` where its standard error is known; all randomness comes from `rng`."""

    def noiseless(self, x: ArrayLike) -> float | None:
        """The value without noise, or None where nobody knows it."""


def prepare(objective: Objective) -> None:
    """Load what evaluations need, once per process, so that missing data shows before the first trial."""
    load = getattr(objective, "prepare", None)
    if load is not None:
        load()


def full_steps(objective: Objective) -> int | None:
    """How many steps a whole evaluation reports, as the optional member `steps` says; None where it reports none."""
    steps = getattr(objective, "steps", None)
    return steps if isinstance(steps, int) and steps > 0 else None
