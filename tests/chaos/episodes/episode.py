"""An episode: a campaign, and what is done to its processes, drawn from a seed."""

import random
import signal
from dataclasses import dataclass
from typing import Any

import yaml
import zoo

NAME = "hostile"
LIMIT = 3.0
"""Seconds for a trial, where some of them hang."""
WORDS = (
    "plain",
    "[/bold][red]markup[link=x]",
    "<script>alert(1)</script>",
    "=HYPERLINK(1)",
    "a\x1b[31mb",
    "naïve ☃\u202e",
    "%s {0} \\",
)


DRIVER, WORKER = "the driver", "a worker"
RAYS_OWN = ("gcs_server", "raylet", "ray::DashboardAgent", "ray::RuntimeEnvAgent")
"""The programs without which a Ray ends."""


@dataclass(frozen=True)
class Strike:
    """A signal when so many trials are settled: to the driver, to one of its workers, or to a program of its Ray."""

    sign: signal.Signals
    settled: int
    target: str = DRIVER


@dataclass(frozen=True)
class Episode:
    """What is run and what is done to it."""

    seed: int
    campaign: dict[str, Any]
    strikes: tuple[Strike, ...] = ()
    ray: bool = False

    @classmethod
    def of(cls, seed: int) -> "Episode":
        """The episode of a seed; every sixth one runs on Ray, with several workers every other time."""
        rng = random.Random(seed)
        ray = seed % 6 == 5
        campaign = _campaign(rng, ray)
        total = campaign["initial"] + campaign["trials"]
        moments = sorted(rng.sample(range(1, total), k=rng.choice([0, 1, 1, 2])))
        return cls(seed, campaign, tuple(_strike(rng, moment, ray) for moment in moments), ray)

    @property
    def title(self) -> str:
        """The episode in a few words."""
        deeds = ", ".join(self.campaign["objective"]["deeds"])
        blows = [f"{s.sign.name} of {s.target} at {s.settled}" for s in self.strikes]
        return f"{'Ray' if self.ray else 'one process'}; {deeds}; {', '.join(blows) or 'no kill'}"

    @property
    def zoo(self) -> zoo.Zoo:
        """The objective of its campaign."""
        return zoo.Zoo(**{k: v for k, v in self.campaign["objective"].items() if k != "name"})


def _campaign(rng: random.Random, ray: bool) -> dict[str, Any]:
    known = [d for d in zoo.DEEDS if ray or d not in zoo.DEATHS]
    deeds = rng.sample(known, k=3 if ray else 14)
    adversaries = [_adversary(rng, i) for i in range(1 if ray else rng.choice([1, 2]))]
    hangs = bool({"hangs"} & {lie for a in adversaries for lie in a.get("lies", ())} or set(deeds) & set(zoo.HANGS))
    return {
        "name": NAME,
        "description": rng.choice(WORDS),
        "objective": {"name": "zoo:Zoo", "deeds": deeds, "known": rng.random() < 0.7, "seconds": 0.02},
        "algorithms": rng.choice([["random"], ["random", "a2-rcgp-ucb"], ["gp-ucb"]]),
        "adversaries": adversaries,
        "seeds": [rng.randrange(2**32)],
        "trials": 8 if ray else rng.randrange(1, 25),
        "initial": rng.randrange(1, 7),
        "workers": rng.choice([1, 2]) if ray else 1,
        "retries": rng.choice([0, 1]),
        "crash_value": rng.choice([None, -3.0, -1e308]),
        "tracking": {"enabled": rng.random() < 0.2},
        "resources": {"cpus": 0.5},
    } | ({"limits": {"trial_seconds": LIMIT}} if hangs else {})


def _adversary(rng: random.Random, number: int) -> dict[str, Any]:
    budget: Any = rng.choice([0, 2, 5, 1000, {"alpha": "1/3"}, {"alpha": 0.5, "unlocked": True}])
    label = {"label": f"a{number}", "budget": budget}
    if rng.random() < 0.3:
        return label | rng.choice([{"name": "honest"}, {"name": "crash", "value": float("-inf")}, {"name": "killer"}])
    return label | {"name": "zoo:Mob", "lies": rng.sample(list(zoo.LIES), k=5), "note": {"words": rng.choice(WORDS)}}


def _strike(rng: random.Random, moment: int, ray: bool) -> Strike:
    if ray and rng.random() < 0.5:
        return Strike(signal.SIGKILL, moment, WORKER if rng.random() < 0.6 else rng.choice(RAYS_OWN))
    return Strike(rng.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM]), moment)


def to_yaml(campaign: dict[str, Any]) -> str:
    """A campaign as a file holds it, infinities and all."""
    return yaml.safe_dump(campaign)
