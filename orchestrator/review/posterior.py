"""What an optimizer believed, trial by trial: its observations are told again, in the order they came."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from objectives import Objective
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_objective, build_optimizer
from orchestrator.review.axes import grid_of

Array = NDArray[np.float64]
GRID = {1: 161, 2: 27}
"""Points along each axis, for problems that can be drawn."""


@dataclass(frozen=True)
class Belief:
    """The posterior on the grid after `told` observations, and the trust in each of them."""

    told: int
    mean: Array
    std: Array
    weights: Array


@dataclass(frozen=True)
class History:
    """What one study believed over time, on a grid `m x d` of the unit cube; `rows` are its trials as they came."""

    study: Study
    objective: Objective
    grid: Array
    rows: DataFrame
    beliefs: tuple[Belief, ...]

    def truth(self) -> Array | None:
        """The true function on the grid, where it is known."""
        values = [self.objective.noiseless(x) for x in self.grid]
        return None if any(v is None for v in values) else np.array(values, dtype=float)


def histories(studies: Sequence[Study], frame: DataFrame, frames: int) -> Iterator[History]:
    """The first seed of each algorithm and adversary, where one or two parameters let it be drawn."""
    objective = build_objective(studies[0])
    if objective.dim not in GRID:
        return
    firsts = {(s.algorithm.label, s.adversary.label): s for s in reversed(studies)}
    for study in (s for s in studies if s in firsts.values()):
        rows = frame[frame["study"] == study.key].sort_values("at", kind="stable")
        if study.algorithm.name != "random" and len(rows) > study.initial:
            yield _history(study, objective, rows, frames)


def _history(study: Study, objective: Objective, rows: DataFrame, frames: int) -> History:
    grid, points = grid_of(objective.space, GRID[objective.dim]), points_of(rows, objective)
    optimizer = build_optimizer(study, objective)
    shown = set(np.linspace(study.initial, len(rows), min(frames, len(rows) - study.initial + 1)).round().astype(int))
    beliefs = []
    for told, (x, y) in enumerate(zip(points, rows["y"], strict=True), start=1):
        optimizer.tell(x, y)
        if told >= study.initial:
            optimizer.update()  # at every trial, as when it was lived: judgements build on each other
        if told in shown:
            belief = optimizer.posterior(grid)
            beliefs.append(Belief(told, belief.mean, belief.std, optimizer.weights()))
    return History(study, objective, grid, rows, tuple(beliefs))


def points_of(rows: DataFrame, objective: Objective) -> Array:
    """The trials as points of the unit cube, shape `n x d`."""
    names = objective.space.names
    values = rows[[f"param.{name}" for name in names]].to_numpy(dtype=object).tolist()  # texts stay texts, ints ints
    return np.array([objective.space.from_units(dict(zip(names, row, strict=True))) for row in values])
