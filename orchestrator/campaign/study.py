"""Studies: what is to be run, as frozen data."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

import numpy as np

from orchestrator.halving import CHANCE, WITNESSES
from orchestrator.plain import Fields, Json, to_strict_json

NOISE, ADVERSARY, REPORTER = 0, 1, 2
"""Streams of randomness: every trial draws its noise, its adversary's luck and its simulated machine from its own counter."""


LATER = ("confirm", "scheduler")
"""What studies did not have at first: without it they are the same, and so are their fingerprints."""


def stream(seed: int, kind: int, number: int) -> np.random.Generator:
    """The randomness of one trial: the same for every algorithm (common random numbers) and for every retry."""
    return np.random.default_rng([seed, kind, number])


@dataclass(frozen=True)
class Component:
    """An algorithm, an objective or an adversary: its name, its options, and how it is called in tables."""

    name: str
    options: Fields = field(default_factory=dict)
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.name.rpartition(":")[2])


@dataclass(frozen=True)
class Confirm:
    """The last `trials` of a study repeat what decides its answer, among the best `candidates`."""

    trials: int
    candidates: int = 3


@dataclass(frozen=True)
class Scheduler:
    """Trials that are behind after `grace` steps, `grace` x `reduction`, ... are stopped there, unless they may still end best.

    The first `witnesses` run in full, so does one in five later, and whoever has at least this `chance`.
    """

    name: str = "asha"
    grace: int = 1
    reduction: float = 3.0
    witnesses: int = WITNESSES
    chance: float = CHANCE


@dataclass(frozen=True)
class Study:
    """One optimizer against one adversary on one objective, from one seed."""

    algorithm: Component
    objective: Component
    adversary: Component = field(default_factory=lambda: Component("honest"))
    seed: int = 0
    trials: int = 30
    """Trials the algorithm chooses itself, after the initial ones: the paper's T."""
    initial: int = 5
    """Quasi-random first trials, the same for all algorithms and never corrupted."""
    workers: int = 1
    cpus: float | None = None
    """Cores per trial; None asks the objective."""
    gpus: float | None = None
    trial_seconds: float | None = None
    retries: int = 2
    crash_value: float | None = None
    """What the optimizer hears of a trial that failed for good; None is a row without influence."""
    confirm: Confirm | None = None
    scheduler: Scheduler | None = None

    @property
    def key(self) -> str:
        """The study's name within its campaign, usable as a file name."""
        return f"{self.algorithm.label}.{self.adversary.label}.seed{self.seed}"

    @property
    def total(self) -> int:
        """All trials, the initial ones included."""
        return self.initial + self.trials

    def to_dict(self) -> Json:
        """Plain data, as the journal's header keeps it; what the first studies did not have is left out where it is not used."""
        data = asdict(self)
        return {key: value for key, value in data.items() if not (key in LATER and value is None)}

    @classmethod
    def from_dict(cls, data: Fields) -> "Study":
        """The study `to_dict` described."""
        values: Json = {f.name: data[f.name] for f in fields(cls) if f.name in data or f.name not in LATER}
        if values.get("confirm") is not None:
            values["confirm"] = Confirm(**values["confirm"])
        if values.get("scheduler") is not None:
            values["scheduler"] = Scheduler(**values["scheduler"])
        for part in ("algorithm", "objective", "adversary"):
            values[part] = Component(**values[part])
        return cls(**values)

    def fingerprint(self) -> str:
        """Changes whenever anything that shapes the results does."""
        text = json.dumps(to_strict_json(self.to_dict()), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(old: Mapping[str, object], new: Mapping[str, object], prefix: str = "") -> list[str]:
    """What changed between two nested mappings, one readable entry for each leaf."""
    found: list[str] = []
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            found += differences(before, after, f"{prefix}{key}.")
        elif before != after and not _both_nan(before, after):
            found.append(f"{prefix}{key}: {before!r} -> {after!r}")
    return found


def _both_nan(a: object, b: object) -> bool:
    return isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)
