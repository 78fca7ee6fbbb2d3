"""Who lies to the regret benchmark, by name: a policy, how often it may lie, and values that fit the problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from problems import Problem

from adversaries import Adversary, Query, Report, make_adversary

Attack = Callable[[Problem, int], tuple[str, dict[str, Any]]]
"""From the problem and its dimension to the adversary's name and options."""


@dataclass(frozen=True)
class BadNode:
    """Every `every`th trial runs on a node that reports another configuration's value: any one's, with its noise."""

    problem: Problem
    every: int = 5

    def lie(self, query: Query, rng: np.random.Generator) -> Report | None:
        """The value of a random configuration."""
        if (query.number + 1) % self.every:
            return None
        objective = self.problem.make()
        return Report(objective.evaluate(rng.random(objective.dim), rng), corrupted=True)


REPORTERS = 5
"""Trials are reported by so many machines in turn."""


def reporter_of(number: int) -> str:
    """Who reports trial `number`, counted from the first that may be lied about (the initial ones are below 0)."""
    return f"machine-{number % REPORTERS}"


@dataclass(frozen=True)
class BadReporter:
    """Of `REPORTERS` machines the first lies with probability `rate`: it reports another configuration's value."""

    problem: Problem
    rate: float = 0.5

    def lie(self, query: Query, rng: np.random.Generator) -> Report | None:
        """The value of a random configuration, from the bad machine."""
        if query.number % REPORTERS or rng.random() >= self.rate:
            return None
        objective = self.problem.make()
        return Report(objective.evaluate(rng.random(objective.dim), rng), corrupted=True)


@dataclass(frozen=True)
class Anything:
    """With probability `rate` any value between `low` and `high` takes the place of the true one: a plausible lie."""

    rate: float
    low: float
    high: float

    def lie(self, query: Query, rng: np.random.Generator) -> Report | None:
        """The lie, at random times."""
        return Report(float(rng.uniform(self.low, self.high)), corrupted=True) if rng.random() < self.rate else None


def _nearfar(low: Callable[[Problem], float], high: Callable[[Problem], float], budget: Any = None) -> Attack:
    def attack(problem: Problem, dim: int) -> tuple[str, dict[str, Any]]:
        root = math.sqrt(dim)
        values = {"low": low(problem), "high": high(problem), "near": 0.1 * root, "far": 0.4 * root}
        return "clairvoyant", values | {"budget": budget or {"alpha": "1/3"}}

    return attack


def _plausible(rate: float) -> Attack:
    return lambda p, d: ("attacks:Anything", {"rate": rate, "low": p.low, "high": p.high, "budget": p.trials})


def _large(rate: float) -> Attack:
    return lambda p, d: ("spike", {"rate": rate, "scale": 10.0 * p.reach, "budget": p.trials})


ATTACKS: dict[str, Attack] = {
    "none": lambda p, d: ("honest", {}),
    "moderate": _nearfar(lambda p: p.low - 0.2 * p.reach, lambda p: p.high + 0.4 * p.reach),
    "in-range": lambda p, d: (
        "clairvoyant",
        {
            "low": p.low + 0.2 * p.reach,
            "high": 0.0,
            "near": 0.15 * math.sqrt(d),
            "far": 10.0,
            "budget": {"alpha": "1/3"},
        },
    ),
    "1e3": _nearfar(lambda p: -1e3 * p.reach, lambda p: 1e3 * p.reach),
    "1e6": _nearfar(lambda p: -1e6 * p.reach, lambda p: 1e6 * p.reach),
    "inf": _nearfar(lambda p: -math.inf, lambda p: math.inf),
    "many": _nearfar(lambda p: p.low - 0.2 * p.reach, lambda p: p.high + 0.4 * p.reach, {"alpha": "1/2"}),
    "crash": lambda p, d: ("crash", {"value": p.low - 2.0 * p.reach, "budget": {"alpha": "1/3"}}),
    "spike": lambda p, d: ("spike", {"rate": 0.1, "scale": 10.0 * p.reach, "budget": {"alpha": "1/2"}}),
    "late": lambda p, d: ("late", {"value": p.low - 0.2 * p.reach, "budget": {"alpha": "1/3"}}),
    "flip": lambda p, d: ("flip", {"budget": {"alpha": "1/3"}}),
    "bad-node": lambda p, d: ("attacks:BadNode", {"problem": p, "budget": p.trials}),
    "bad-reporter": lambda p, d: ("attacks:BadReporter", {"problem": p, "budget": p.trials}),
    "share-20": _plausible(0.2),
    "share-30": _plausible(0.3),
    "share-20-large": _large(0.2),
    "share-30-large": _large(0.3),
}


def make_attack(name: str, problem: Problem, objective: Any) -> Adversary:
    """The adversary called `name` as it attacks this problem."""
    policy, options = ATTACKS[name](problem, objective.dim)
    return make_adversary(policy, trials=problem.trials, optimum=objective.optimum.x, **options)
