"""How often an adversary may lie. The budget counts corruptions; their size is unbounded."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

DEFAULT_BUDGET: Mapping[str, str] = {"alpha": "1/3"}
"""The paper's: floor(T^(1/3)) corruptions in total."""


class Budget(Protocol):
    """A cap on corruptions that never shrinks with time."""

    def allowance(self, time: int, trials: int) -> int:
        """How many corruptions may have happened after `time` of `trials` trials."""


@dataclass(frozen=True)
class Count:
    """At most `count` corruptions, all available from the start."""

    count: int

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or self.count < 0:
            raise ValueError(f"A corruption budget must be a whole number of at least 0, got {self.count!r}.")

    def allowance(self, time: int, trials: int) -> int:
        """The count, whatever the time."""
        return self.count


@dataclass(frozen=True)
class Power:
    """floor(T^alpha) corruptions in total; `unlocked` over time, only floor(t^alpha) of them by trial t."""

    alpha: Fraction
    unlocked: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"Budget alpha must lie in [0, 1], got {float(self.alpha)}.")
        if not isinstance(self.unlocked, bool):
            raise ValueError(f"Budget unlocked must be true or false, got {self.unlocked!r}.")

    def allowance(self, time: int, trials: int) -> int:
        """floor(T^alpha) or floor(t^alpha)."""
        return floor_power(min(time, trials) if self.unlocked else trials, self.alpha)


def floor_power(base: int, alpha: Fraction) -> int:
    """floor(base^alpha) in whole numbers: in floating point 64^(1/3) is 3.9999999999999996."""
    power = base**alpha.numerator
    n: int = round(base ** float(alpha))
    while n**alpha.denominator > power:
        n -= 1
    return n


def parse_budget(spec: object) -> Budget:
    """The budget a plain value stands for: 5, {"alpha": "1/3"} or {"alpha": 0.5, "unlocked": True}."""
    if isinstance(spec, int):
        return Count(spec)
    if not isinstance(spec, Mapping) or "alpha" not in spec or not set(spec) <= {"alpha", "unlocked"}:
        raise ValueError(f'A budget is a count, or {{"alpha": 1/3}} with an optional "unlocked"; got {spec!r}.')
    return Power(_fraction(spec["alpha"]), spec.get("unlocked", False))


def _fraction(alpha: str | float | Fraction) -> Fraction:
    """`alpha` as an exact fraction, so that 0.3333333 means 1/3."""
    try:
        return Fraction(alpha).limit_denominator(1000)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ValueError(f'Budget alpha must be a number or a fraction such as "1/3", got {alpha!r}.') from None
