"""How RCGPSearch and RCGPSampler search: their settings, checked when they are given."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, cast

from orchestrator.search.cube import Cube
from orchestrator.search.dimensions import Number
from orchestrator.trial_records import FailureRule
from rcgp import Optimizer, make_optimizer
from rcgp.confidence import usual_scale

RULES = ("region", "pessimistic", "ignore")
"""What a failed trial may be worth, by name."""

FILL = 10
"""So many quasi-random trials come first, though reports are judged from two for each parameter on. With two for each parameter
only, at least four, searches in two dimensions settled on the first hill and those in twenty had no trials left (46 functions, 50
trials: docs/regret.md, the first trials)."""

WIDTH = 0.5
"""The least `scale` of the bound where the answer counts, not what it cost to find it (the same page). With 0.8 recorded tables
without lies gain a little more, and a quarter as many of a bad machine's lies are found: far apart, reports contradict nobody."""


@dataclass(frozen=True)
class Settings:
    """Everything about a search but its space and its goal."""

    algorithm: str = "a2-rcgp-ucb"
    seed: int = 0
    n_initial: int | None = None
    on_error: str | float = "region"
    suspect_share: float = 0.25
    background_from: int | None = 400
    options: Mapping[str, Any] = field(default_factory=dict)
    error_metric: str | None = None
    confirm: int | None = None
    time_attr: str | None = "training_iteration"
    max_resource: float | None = None

    def __post_init__(self) -> None:
        if self.on_error not in RULES and not (_is_real(self.on_error) and math.isfinite(float(self.on_error))):
            rules = ", ".join(map(repr, RULES))
            raise ValueError(f"on_error must be {rules} or a finite number, got {self.on_error!r}.")
        if not (_is_real(self.suspect_share) and 0.0 < self.suspect_share <= 1.0):
            raise ValueError(f"suspect_share must lie in (0, 1], got {self.suspect_share!r}.")
        if self.background_from is not None and not (_is_whole(self.background_from) and self.background_from >= 0):
            raise ValueError(f"background_from must be a whole number of trials or None, got {self.background_from!r}.")
        if self.confirm is not None and not (_is_whole(self.confirm) and self.confirm >= 0):
            raise ValueError(f"confirm must be a whole number of trials or None, got {self.confirm!r}.")
        if self.error_metric is not None and not isinstance(self.error_metric, str):
            raise ValueError(f"error_metric must be the name of a metric, got {self.error_metric!r}.")
        if self.max_resource is not None and not (_is_real(self.max_resource) and 0.0 < self.max_resource < math.inf):
            raise ValueError(f"max_resource must be a positive number or None, got {self.max_resource!r}.")
        if self.time_attr is not None and not isinstance(self.time_attr, str):
            raise ValueError(
                f"time_attr must be the name of what counts a trial's progress, or None, got {self.time_attr!r}."
            )
        for option in ("dim", "name", "project", "neighbours"):
            if option in self.options:
                raise ValueError(f"{option} is no option: it follows from the search space.")
        self.optimizer(Cube.of([Number("x", 0.0, 1.0)]))  # a wrong option shows now, not when the fit starts

    def optimizer(self, cube: Cube) -> Optimizer:
        """A fresh optimizer. No point is tried twice but to check a claim or what decides the answer, or where a crash may have
        been bad luck."""
        initial, fill = (min(max(4, 2 * cube.largest), FILL), FILL) if self.n_initial is None else (self.n_initial, 0)
        robust = self.algorithm == "a2-rcgp-ucb" and self.options.get("recipe") != "paper"
        usual = {"avoid_repeats": True, "regions": self.on_error == "region", "verify": robust}
        wide = {"scale": max(WIDTH, usual_scale(cube.dim)), "fill": fill, "look_again": robust and cube.continuous}
        options: dict[str, Any] = {**usual, **wide, **self.options}
        options |= {"seed": self.seed, "n_initial": initial, "project": cube.project, "neighbours": cube.neighbours}
        return make_optimizer(self.algorithm, cube.dim, **options)

    def fallback(self, cube: Cube) -> Optimizer:
        """What suggests where the model fails, and completes what a person left open: quasi-random points, none twice."""
        return make_optimizer("random", cube.dim, seed=self.seed, n_initial=1, project=cube.project, avoid_repeats=True)

    def failure_value(self, sign: float) -> FailureRule:
        """`on_error` where everything is maximised."""
        return cast(FailureRule, self.on_error) if isinstance(self.on_error, str) else sign * self.on_error


def check_space(space: object) -> None:
    """Refuse what is no space: a metric that was given first, most often."""
    if space is not None and not isinstance(space, Mapping):
        hint = "name what else you give, as in RCGPSearch(metric='loss', mode='min')"
        raise ValueError(f"space must be a dictionary of parameters, got {space!r}: {hint}.")


def check_goal(metric: object, mode: object) -> None:
    """Refuse what is no metric, and what is no direction."""
    if isinstance(metric, list | tuple) or isinstance(mode, list | tuple):
        raise ValueError(f"RCGPSearch has a single objective: give one metric and one mode, got {metric!r}, {mode!r}.")
    if metric is not None and not isinstance(metric, str):
        raise ValueError(f"metric must be a name, got {metric!r}.")
    if mode is not None and mode not in ("min", "max"):
        raise ValueError(f"mode must be 'min' or 'max', got {mode!r}.")


def _is_real(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real)


def _is_whole(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int)
