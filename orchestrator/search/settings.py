"""How RCGPSearch searches: its settings, checked when they are given."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from orchestrator.search.space import Array
from rcgp import Optimizer, make_optimizer


@dataclass(frozen=True)
class Settings:
    """Everything about a searcher but its space and its goal."""

    algorithm: str = "a2-rcgp-ucb"
    seed: int = 0
    n_initial: int | None = None
    on_error: str | float = "pessimistic"
    suspect_share: float = 0.25
    background_from: int | None = 400
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rules = ("pessimistic", "ignore")
        if self.on_error not in rules and not (_is_real(self.on_error) and math.isfinite(float(self.on_error))):
            raise ValueError(f"on_error must be 'pessimistic', 'ignore' or a finite number, got {self.on_error!r}.")
        if not (_is_real(self.suspect_share) and 0.0 < self.suspect_share <= 1.0):
            raise ValueError(f"suspect_share must lie in (0, 1], got {self.suspect_share!r}.")
        if self.background_from is not None and not (_is_whole(self.background_from) and self.background_from >= 0):
            raise ValueError(f"background_from must be a whole number of trials or None, got {self.background_from!r}.")
        self.optimizer(dim=1, parameters=1, project=None)  # a wrong option shows now, not when the fit starts

    def optimizer(self, dim: int, parameters: int, project: Callable[[Array], Array] | None) -> Optimizer:
        """A fresh optimizer; by default two initial points for each parameter, at least four."""
        initial = max(4, 2 * parameters) if self.n_initial is None else self.n_initial
        return make_optimizer(
            self.algorithm,
            dim,
            seed=self.seed,
            n_initial=initial,
            project=project,
            avoid_repeats=True,
            **self.options,
        )


def check_goal(metric: Any, mode: Any) -> None:
    """Refuse what is no metric, and what is no direction."""
    if mode is not None and mode not in ("min", "max"):
        raise ValueError(f"mode must be 'min' or 'max', got {mode!r}.")
    if metric is not None and not isinstance(metric, str):
        raise ValueError(f"metric must be one name, got {metric!r}: RCGPSearch has a single objective.")


def _is_real(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real)


def _is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int)
