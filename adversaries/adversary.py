"""The adversary: a policy that lies, a budget that limits it, and a memory of every answer."""

import math
from dataclasses import dataclass, field
from numbers import Real
from traceback import format_exception_only
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adversaries.budget import Budget

Point = NDArray[np.float64]


class AdversaryError(RuntimeError):
    """A policy that raised, or whose answer is neither None nor a corrupted report."""


def is_number(value: object) -> bool:
    """Whether `value` is a real number, as Python or NumPy spell it; NaN and infinities are, True and "1" are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def one_line(error: BaseException) -> str:
    """Type and message of an error, even of one whose message cannot be formed."""
    return " ".join("".join(format_exception_only(error)).split())


@dataclass(frozen=True)
class Report:
    """What the optimizer gets to hear; `kill` asks whoever evaluates to die before it can answer."""

    y: float
    corrupted: bool = False
    kill: bool = False

    def __post_init__(self) -> None:
        if not is_number(self.y):
            raise TypeError(f"Report.y must be a number, got {self.y!r:.80} ({type(self.y).__name__})")


@dataclass(frozen=True, eq=False)
class Query:
    """All an adversary may know about one trial: it sees the truth, and where the truth is best."""

    number: int
    """The trial, counted from 0 over the corruptible trials."""
    trials: int
    x: Point
    y: float
    """The true (noisy) value."""
    optimum: Point | None
    incumbent: Point
    """Where the best true value so far was seen; this trial included."""
    reporter: int = 0
    """The machine that evaluates it, of those a policy with `reporters` stands for."""
    earlier: tuple[float, ...] = ()
    """The true values of the trials before it."""


@runtime_checkable
class Policy(Protocol):
    """When to lie, and how. A frozen dataclass with this one method is a complete policy."""

    def lie(self, query: Query, rng: np.random.Generator) -> Report | None:
        """The corrupted report, or None to let the truth pass; only called while the budget lasts."""


@dataclass
class Adversary:
    """Applies `policy` while `budget` lasts. A trial asked for again gets the same answer and pays once."""

    name: str
    policy: Policy
    budget: Budget
    trials: int
    optimum: Point | None = None
    _answers: dict[int, Report] = field(default_factory=dict, init=False)
    _incumbent: tuple[Point, float] | None = field(default=None, init=False)
    _earlier: list[float] = field(default_factory=list, init=False)
    spent: int = field(default=0, init=False)
    """How many trials were corrupted so far."""

    @property
    def allowance(self) -> int:
        """How many trials may be corrupted in all."""
        return self.budget.allowance(self.trials, self.trials)

    @property
    def reporters(self) -> int:
        """How many machines its policy stands for; 0 where it asks for none."""
        return int(getattr(self.policy, "reporters", 0))

    def report(self, number: int, x: ArrayLike, y_true: float, rng: np.random.Generator, reporter: int = 0) -> Report:
        """The answer for corruptible trial `number`, evaluated by `reporter`: decided once, then remembered."""
        if number < 0:
            raise ValueError(f"Trial numbers count from 0, got {number}.")
        if number not in self._answers:
            query = self._query(number, np.asarray(x, dtype=np.float64), float(y_true), reporter)
            self._answers[number] = self._decide(query, rng)
            self.spent += self._answers[number].corrupted
            self._earlier.append(query.y)
        return self._answers[number]

    def _query(self, number: int, x: Point, y: float, reporter: int) -> Query:
        if self.optimum is not None and x.shape != self.optimum.shape:
            raise ValueError(f"x has shape {x.shape}, but the optimum has shape {self.optimum.shape}.")
        if self._incumbent is None or y > self._incumbent[1] or math.isnan(self._incumbent[1]):
            self._incumbent = (x.copy(), y)
        return Query(number, self.trials, x, y, self.optimum, self._incumbent[0], reporter, tuple(self._earlier))

    def _decide(self, query: Query, rng: np.random.Generator) -> Report:
        if self.spent >= self.budget.allowance(query.number + 1, self.trials):
            return Report(query.y)
        try:
            return _checked(self.policy.lie(query, rng), query.y)
        except Exception as error:  # a policy may be anybody's code: whatever it raises, its name comes first
            where = f"adversary {self.name!r}, corruptible trial {query.number}"
            raise AdversaryError(f"{where}: {one_line(error)}") from error


def _checked(lie: Report | None, truth: float) -> Report:
    """What a policy answered, as a report that pays for what it changes."""
    if lie is None:
        return Report(truth)
    if not isinstance(lie, Report):
        raise TypeError(f"lie() must return a Report or None, got {lie!r:.80} ({type(lie).__name__})")
    report = Report(float(lie.y), bool(lie.corrupted), bool(lie.kill))
    honest = report.y == truth or (math.isnan(report.y) and math.isnan(truth))
    if not report.corrupted and (report.kill or not honest):
        raise ValueError(f"{lie!r:.120} changes the truth {truth!r} and must say corrupted=True")
    return report
