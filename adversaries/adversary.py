"""The adversary: a policy that lies, a budget that limits it and a ledger that remembers every answer."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adversaries.budget import Budget

Point = NDArray[np.float64]


@dataclass(frozen=True)
class Report:
    """What the optimizer gets to hear; `kill` asks whoever evaluates to die before it can answer."""

    y: float
    corrupted: bool = False
    kill: bool = False


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
    _ledger: dict[int, Report] = field(default_factory=dict, init=False)
    _incumbent: tuple[Point, float] | None = field(default=None, init=False)

    @property
    def spent(self) -> int:
        """How many trials were corrupted so far."""
        return sum(r.corrupted for r in self._ledger.values())

    @property
    def allowance(self) -> int:
        """How many trials may be corrupted in all."""
        return self.budget.allowance(self.trials, self.trials)

    def corrupt(self, number: int, x: ArrayLike, y_true: float, rng: np.random.Generator) -> float:
        """The value the optimizer gets to hear."""
        return self.report(number, x, y_true, rng).y

    def report(self, number: int, x: ArrayLike, y_true: float, rng: np.random.Generator) -> Report:
        """The answer for corruptible trial `number`: decided once, then remembered."""
        if number < 0:
            raise ValueError(f"Trial numbers count from 0, got {number}.")
        if number not in self._ledger:
            query = self._query(number, np.asarray(x, dtype=np.float64), float(y_true))
            self._ledger[number] = self._decide(query, rng)
        return self._ledger[number]

    def state_dict(self) -> dict[str, Any]:
        """The ledger as strict JSON: restoring it neither refills the budget nor changes an answer."""
        ledger = [_to_plain(n, r) for n, r in sorted(self._ledger.items())]
        best = self._incumbent
        return {
            "adversary": self.name,
            "ledger": ledger,
            "incumbent": None if best is None else {"x": best[0].tolist(), "y": _plain_float(best[1])},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where `state_dict` was taken."""
        if state["adversary"] != self.name:
            raise ValueError(f"This ledger was kept by adversary {state['adversary']!r}, not by {self.name!r}.")
        best = state.get("incumbent")
        self._ledger = dict(_from_plain(entry) for entry in state["ledger"])
        self._incumbent = None if best is None else (np.array(best["x"], dtype=np.float64), float(best["y"]))

    def describe(self) -> dict[str, Any]:
        """Name, options and allowance as JSON-able data."""
        options = {k: _plain(v) for k, v in getattr(self.policy, "__dict__", {}).items()}
        return {"name": self.name, "options": options, "trials": self.trials, "allowance": self.allowance}

    def _query(self, number: int, x: Point, y: float) -> Query:
        if self.optimum is not None and x.shape != self.optimum.shape:
            raise ValueError(f"x has shape {x.shape}, but the optimum has shape {self.optimum.shape}.")
        if self._incumbent is None or y > self._incumbent[1] or math.isnan(self._incumbent[1]):
            self._incumbent = (x.copy(), y)
        return Query(number, self.trials, x, y, self.optimum, self._incumbent[0])

    def _decide(self, query: Query, rng: np.random.Generator) -> Report:
        affordable = self.spent < self.budget.allowance(query.number + 1, self.trials)
        lie = self.policy.lie(query, rng) if affordable else None
        return Report(query.y) if lie is None else lie


def _plain_float(y: float) -> float | str:
    """JSON knows no NaN and no infinity: spell them."""
    return float(y) if math.isfinite(y) else str(float(y))


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return _plain_float(value)
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _to_plain(number: int, report: Report) -> dict[str, Any]:
    return {"number": number, "y": _plain_float(report.y), "corrupted": report.corrupted, "kill": report.kill}


def _from_plain(entry: Mapping[str, Any]) -> tuple[int, Report]:
    return int(entry["number"]), Report(float(entry["y"]), bool(entry["corrupted"]), bool(entry.get("kill", False)))
