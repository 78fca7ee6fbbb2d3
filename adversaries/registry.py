"""Adversaries by name, or by import path, from plain keyword options."""

import inspect
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import numpy as np

from adversaries.adversary import Adversary, Policy
from adversaries.budget import DEFAULT_BUDGET, parse_budget
from adversaries.policies import Clairvoyant, Crash, Honest

ADVERSARIES: dict[str, type[Policy]] = {"honest": Honest, "clairvoyant": Clairvoyant, "crash": Crash}


def make_adversary(
    name: str, *, trials: int, optimum: Sequence[float] | None = None, budget: Any = None, **options: Any
) -> Adversary:
    """The adversary called `name`, or with the policy at the import path "package.module:Class".

    `trials` counts the corruptible trials T; `budget` is a count, {"alpha": "1/3"} for floor(T^(1/3)) in total (the
    default), or {"alpha": "1/3", "unlocked": True} for floor(t^(1/3)) over time; `optimum` is a point of the unit cube.
    """
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 0:
        raise ValueError(f"trials must be a whole number of at least 0, got {trials!r}.")
    policy = _make_policy(name, options)
    if getattr(policy, "needs_optimum", False) and optimum is None:
        raise ValueError(
            f"Adversary {name!r} must know the optimum: pass optimum=..., or use one that need not ('crash')."
        )
    point = None if optimum is None else np.asarray(optimum, dtype=np.float64)
    return Adversary(name, policy, parse_budget(DEFAULT_BUDGET if budget is None else budget), trials, point)


def _make_policy(name: str, options: dict[str, Any]) -> Policy:
    cls = _import_class(name) if ":" in name else ADVERSARIES.get(name)
    if cls is None:
        raise ValueError(_unknown("adversary", name, ADVERSARIES) + ' Your own: "package.module:Class".')
    _check_options(name, cls, options)
    policy: Policy = cls(**options)
    if not isinstance(policy, Policy):
        raise ValueError(f"Adversary {name!r} lacks lie(query, rng); adversaries.Policy says what is needed.")
    return policy


def _import_class(path: str) -> Any:
    """The class at "package.module:Class"."""
    module, _, attribute = path.partition(":")
    if not module or not attribute.isidentifier():
        raise ValueError(f'Import path {path!r} must read "package.module:Class".')
    try:
        found = getattr(import_module(module), attribute, None)
    except Exception as error:  # the module is not ours: whatever it raises is why it cannot be imported
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"Adversary {path!r} cannot be imported ({reason}). Is its folder on PYTHONPATH?") from error
    if found is None:
        raise ValueError(f"Adversary {path!r} cannot be imported: module {module} has no {attribute}.")
    if not callable(found):
        raise ValueError(f"Adversary {path!r} is not a class but {found!r}.")
    return found


def _check_options(name: str, cls: Any, options: dict[str, Any]) -> None:
    """Refuse options the policy does not take, naming those it does."""
    parameters = inspect.signature(cls).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    allowed = [p.name for p in parameters]
    for option in options:
        if option not in allowed:
            raise ValueError(_unknown(f"option of adversary {name!r}", option, [*allowed, "budget"]))


def _unknown(what: str, given: str, allowed: Iterable[str]) -> str:
    names = sorted(allowed)
    close = get_close_matches(str(given), names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"Unknown {what}: {given!r}.{hint} Allowed: {', '.join(names) or 'none'}."
