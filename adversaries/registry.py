"""Adversaries by name, or by import path, from plain keyword options."""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from inspect import signature
from pkgutil import resolve_name

import numpy as np

from adversaries.adversary import Adversary, Point, Policy, one_line
from adversaries.budget import DEFAULT_BUDGET, parse_budget
from adversaries.policies import BadReporter, Clairvoyant, Crash, Flip, Heavy, Honest, Infinite, Killer, Late, Spike

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
    "bad-reporter": BadReporter,
}


def make_adversary(
    name: str, *, trials: int, optimum: Sequence[float] | None = None, budget: object = None, **options: object
) -> Adversary:
    """The adversary called `name`, or with the policy at the import path "package.module:Class".

    `trials` counts the corruptible trials T; `budget` is a count, {"alpha": "1/3"} for floor(T^(1/3)) in total (the
    default), or {"alpha": "1/3", "unlocked": True} for floor(t^(1/3)) over time; `optimum` is a point of the unit cube.
    """
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 0:
        raise ValueError(f"trials must be a whole number of at least 0, got {trials!r}.")
    policy = _make_policy(name, options)
    if getattr(policy, "needs_optimum", False) and optimum is None:
        raise ValueError(f"Adversary {name!r} must know the optimum: pass optimum=..., or choose one that need not.")
    limit = parse_budget(DEFAULT_BUDGET if budget is None else budget)
    return Adversary(name, policy, limit, trials, None if optimum is None else _point(optimum))


def _point(optimum: Sequence[float]) -> Point:
    point = np.asarray(optimum, dtype=np.float64)
    if point.ndim != 1 or not ((point >= 0) & (point <= 1)).all():
        raise ValueError(f"The optimum must be a point of the unit cube, got {list(optimum)}.")
    return point


def _make_policy(name: str, options: dict[str, object]) -> Policy:
    cls = _find(name)
    takes = signature(cls).parameters
    unknown = [] if any(p.kind is p.VAR_KEYWORD for p in takes.values()) else [o for o in options if o not in takes]
    if unknown:
        allowed = _hint(unknown[0], ["budget", *takes])
        raise ValueError(f"Unknown option of adversary {name!r}: {unknown[0]!r}. {allowed}")
    try:
        policy = cls(**options)
    except ValueError:
        raise  # says itself which value is wrong
    except Exception as error:
        raise ValueError(f"Adversary {name!r} cannot be made with {options} ({one_line(error)}).") from error
    if not isinstance(policy, Policy):
        raise ValueError(f"Adversary {name!r} lacks lie(query, rng); adversaries.Policy says what is needed.")
    return policy


def _find(name: str) -> Callable[..., object]:
    """The class of that name or import path."""
    if name in ADVERSARIES:
        return ADVERSARIES[name]
    if ":" not in name:
        raise ValueError(f'Unknown adversary: {name!r}. {_hint(name, ADVERSARIES)} Your own: "package.module:Class".')
    try:
        found = resolve_name(name)
    except Exception as error:  # the module is not ours: whatever it raises is why it cannot be imported
        reason = f"{name!r} cannot be imported ({one_line(error)})"
        raise ValueError(f"Adversary {reason}. Is its folder on PYTHONPATH?") from error
    if not isinstance(found, type):
        raise ValueError(f'Adversary {name!r} is no class: an import path reads "package.module:Class".')
    return found


def _hint(given: str, allowed: Iterable[str]) -> str:
    """What may have been meant, and all there is."""
    names = sorted(allowed)
    close = get_close_matches(given, names, n=1)
    return (f"Did you mean {close[0]!r}? " if close else "") + f"Allowed: {', '.join(names)}."
