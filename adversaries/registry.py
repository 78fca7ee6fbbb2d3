"""Adversaries by name, or by import path, from plain keyword options."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from adversaries.adversary import Adversary, Point, Policy
from adversaries.budget import DEFAULT_BUDGET, parse_budget
from adversaries.options import check_names, check_types, import_class, unknown
from adversaries.policies import Clairvoyant, Crash, Flip, Heavy, Honest, Infinite, Killer, Late, Spike

ADVERSARIES: dict[str, type[Policy]] = {
    "honest": Honest,
    "clairvoyant": Clairvoyant,
    "crash": Crash,
    "spike": Spike,
    "heavy": Heavy,
    "late": Late,
    "infinite": Infinite,
    "killer": Killer,
    "flip": Flip,
}


def make_adversary(
    name: str, *, trials: int, optimum: Sequence[float] | None = None, budget: Any = None, **options: Any
) -> Adversary:
    """The adversary called `name`, or with the policy at the import path "package.module:Class".

    `trials` counts the corruptible trials T; `budget` is a count, {"alpha": "1/3"} for floor(T^(1/3)) in total (the
    default), or {"alpha": "1/3", "unlocked": True} for floor(t^(1/3)) over time; `optimum` is a point of the unit cube.
    """
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 0:
        raise ValueError(f"trials must be a whole number of at least 0, got {trials!r}.")
    policy = _make_own(name, options) if ":" in name else _make_ours(name, options)
    if getattr(policy, "needs_optimum", False) and optimum is None:
        raise ValueError(f"Adversary {name!r} must know the optimum: pass optimum=..., or choose one that need not.")
    limit = parse_budget(DEFAULT_BUDGET if budget is None else budget)
    return Adversary(name, policy, limit, trials, None if optimum is None else _point(optimum))


def _point(optimum: Sequence[float]) -> Point:
    point = np.asarray(optimum, dtype=np.float64)
    if point.ndim != 1 or not ((point >= 0) & (point <= 1)).all():
        raise ValueError(f"The optimum must be a point of the unit cube, got {list(optimum)}.")
    return point


def _make_ours(name: str, options: dict[str, Any]) -> Policy:
    if name not in ADVERSARIES:
        raise ValueError(unknown("adversary", name, ADVERSARIES) + ' Your own: "package.module:Class".')
    what, cls = f"adversary {name!r}", ADVERSARIES[name]
    check_names(what, cls, options)
    check_types(what, cls, options)
    return cls(**options)


def _make_own(path: str, options: dict[str, Any]) -> Policy:
    cls = import_class("Adversary", path)
    check_names(f"adversary {path!r}", cls, options)
    policy: Policy = cls(**options)
    if not isinstance(policy, Policy):
        raise ValueError(f"Adversary {path!r} lacks lie(query, rng); adversaries.Policy says what is needed.")
    return policy
