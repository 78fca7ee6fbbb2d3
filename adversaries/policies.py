"""When and how to lie. Each policy stands for a way in which real measurements go wrong."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from adversaries.adversary import Point, Query, Report, is_number

NON_FINITE = ("nan", "inf", "-inf")
KINDS_OF_LIE = ("offset", "other", "frozen")


def _lie(y: float) -> Report:
    return Report(float(y), corrupted=True)


def _number(owner: str, name: str, value: float) -> None:
    if not is_number(value):
        raise ValueError(f"{owner}: {name} must be a number, got {value!r}.")


def _share(owner: str, name: str, value: float) -> None:
    _number(owner, name, value)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{owner}: {name} must lie in [0, 1], got {value}.")


def _positive(owner: str, name: str, value: float) -> None:
    _number(owner, name, value)
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{owner}: {name} must be positive and finite, got {value}.")


def _distance(a: Point, b: Point) -> float:
    """Euclidean, in the unit cube."""
    return float(np.linalg.norm(a - b))


@dataclass(frozen=True)
class Honest:
    """Never lies: the clean run every robust method is compared with."""

    def lie(self, query: Query, rng: np.random.Generator) -> None:
        """The truth, always."""
        return


@dataclass(frozen=True)
class Clairvoyant:
    """Knows x*: reports `low` within `near` of it and `high` beyond `far`, as early as it can (the paper's attack).

    Stands for a poisoned metric: somebody who knows the answer and wants the search to miss it.
    """

    needs_optimum: ClassVar[bool] = True
    near: float = 0.1
    far: float = 0.4
    low: float = -10.0
    high: float = 25.0

    def __post_init__(self) -> None:
        for name in ("near", "far", "low", "high"):
            _number("clairvoyant", name, getattr(self, name))
        if not 0 <= self.near <= self.far:
            raise ValueError(f"clairvoyant: need 0 <= near <= far, got near={self.near}, far={self.far}.")

    def lie(self, query: Query, rng: np.random.Generator) -> Report | None:
        """`low` near the optimum, `high` far from it."""
        assert query.optimum is not None, "make_adversary refuses a clairvoyant without an optimum"
        distance = _distance(query.x, query.optimum)
        if distance < self.near:
            return _lie(self.low)
        return _lie(self.high) if distance > self.far else None


@dataclass(frozen=True)
class Crash:
    """Reports `value` for any x, as early as the budget allows.

    Stands for a crashed node whose failure is written down as a result: -2 as an accuracy, -1000 as a lander's return.
    """

    value: float = -2.0

    def __post_init__(self) -> None:
        _number("crash", "value", self.value)

    def lie(self, query: Query, rng: np.random.Generator) -> Report:
        """The failure's value."""
        return _lie(self.value)


@dataclass(frozen=True)
class Spike:
    """With probability `rate` replaces the value: by `value`, or by ± a magnitude drawn around `scale` (log-normal).

    Stands for a loose cable: unrelated, wild readings at random times (Huber contamination).
    """

    rate: float = 0.1
    value: float | None = None
    scale: float = 100.0

    def __post_init__(self) -> None:
        _share("spike", "rate", self.rate)
        _positive("spike", "scale", self.scale)
        if self.value is not None:
            _number("spike", "value", self.value)

    def lie(self, query: Query, rng: np.random.Generator) -> Report | None:
        """The spike, at random times."""
        if rng.random() >= self.rate:
            return None
        return _lie(self.value if self.value is not None else rng.choice([-1, 1]) * self.scale * rng.lognormal())


@dataclass(frozen=True)
class Heavy:
    """Adds Student-t noise of `df` degrees of freedom (1 is Cauchy) and this `scale`, with probability `rate`.

    Stands for a bad sensor: centred on the truth, but now and then very far from it. A budget of T makes it the noise.
    """

    df: float = 1.0
    scale: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        _positive("heavy", "df", self.df)
        _positive("heavy", "scale", self.scale)
        _share("heavy", "rate", self.rate)

    def lie(self, query: Query, rng: np.random.Generator) -> Report | None:
        """The truth plus heavy-tailed noise."""
        if rng.random() >= self.rate:
            return None
        return _lie(query.y + self.scale * rng.standard_t(self.df))


@dataclass(frozen=True)
class Late:
    """Waits for the share `start` of the trials, then reports `value` for all within `near` of the incumbent.

    Stands for a sensor that dies once the search has settled: the best configuration suddenly looks terrible.
    """

    start: float = 0.5
    near: float = 0.1
    value: float = -10.0

    def __post_init__(self) -> None:
        _share("late", "start", self.start)
        _positive("late", "near", self.near)
        _number("late", "value", self.value)

    def lie(self, query: Query, rng: np.random.Generator) -> Report | None:
        """`value` near the best true value seen so far, once the wait is over."""
        waiting = query.number < self.start * query.trials
        close = _distance(query.x, query.incumbent) < self.near
        return _lie(self.value) if close and not waiting else None


@dataclass(frozen=True)
class Infinite:
    """Reports `value`, one of nan, inf and -inf, or "any" of them at random, as early as the budget allows.

    Stands for a division by zero, an overflow or a dead sensor: the result is not even a number.
    """

    value: float | str = "any"

    def __post_init__(self) -> None:
        if str(self.value) not in (*NON_FINITE, "any"):
            raise ValueError(f"infinite: value must be one of any, {', '.join(NON_FINITE)}; got {self.value!r}.")

    def lie(self, query: Query, rng: np.random.Generator) -> Report:
        """Something that is no number."""
        return _lie(float(rng.choice(NON_FINITE) if self.value == "any" else self.value))


@dataclass(frozen=True)
class Killer:
    """Asks for the evaluating process to be killed outright, as early as the budget allows; there is no value (NaN).

    Stands for a node that goes away: out of memory, preempted, unplugged. Whoever evaluates carries it out.
    """

    def lie(self, query: Query, rng: np.random.Generator) -> Report:
        """No value, and the wish to kill."""
        return Report(math.nan, corrupted=True, kill=True)


@dataclass(frozen=True)
class Flip:
    """Reports the value mirrored at `center` (so -y at 0), as early as the budget allows: a plausible lie.

    Stands for a mislabelled sign: a loss logged as a score, a metric minimised where it should be maximised.
    """

    center: float = 0.0

    def __post_init__(self) -> None:
        _number("flip", "center", self.center)

    def lie(self, query: Query, rng: np.random.Generator) -> Report:
        """The mirror image of the truth."""
        return _lie(2 * self.center - query.y)


@dataclass(frozen=True)
class BadReporter:
    """Of `reporters` machines the share `bad` lies, each time with probability `rate`; the others are honest.

    The `kind` of lie is "offset" (the truth plus `value`), "other" (what another trial really gave) or "frozen" (always
    `value`, or what the first trial gave). Stands for a node gone bad: a stale cache, a GPU that miscomputes.
    """

    reporters: int = 5
    bad: float = 0.2
    rate: float = 0.5
    kind: str = "other"
    value: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.reporters, bool) or not isinstance(self.reporters, int) or self.reporters < 1:
            raise ValueError(f"bad-reporter: reporters must be a whole number of at least 1, got {self.reporters!r}.")
        _share("bad-reporter", "bad", self.bad)
        _share("bad-reporter", "rate", self.rate)
        if self.kind not in KINDS_OF_LIE:
            raise ValueError(f"bad-reporter: kind must be one of {', '.join(KINDS_OF_LIE)}; got {self.kind!r}.")
        if self.value is not None:
            _number("bad-reporter", "value", self.value)
        if self.kind == "offset" and self.value is None:
            raise ValueError("bad-reporter: an offset needs its value, such as value: 2.0.")

    @property
    def liars(self) -> int:
        """How many machines lie: the first ones."""
        return round(self.bad * self.reporters)

    def lie(self, query: Query, rng: np.random.Generator) -> Report | None:
        """The lie of a bad machine, at random times."""
        if query.reporter >= self.liars or rng.random() >= self.rate:
            return None
        if self.kind == "offset":
            return _lie(query.y + (self.value or 0.0))
        if self.kind == "frozen" and self.value is not None:
            return _lie(self.value)
        if not query.earlier:
            return None
        return _lie(query.earlier[0] if self.kind == "frozen" else rng.choice(query.earlier))
