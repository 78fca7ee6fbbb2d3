"""Where to look next: the upper confidence bound, and the maximiser of any acquisition over the unit cube."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from scipy.spatial.distance import cdist

from rcgp.ascent import Box, Effort, ascend
from rcgp.gaussian import Array, GaussianPosterior, Mask
from rcgp.sobol import sobol_points

Projection = Callable[[Array], Array]
"""Rounds points of the cube (`m x d`) to points that can be tried, row by row."""

Neighbours = Callable[[Array], Array]
"""The points that can be tried (`m x d`) one move away from one of them (`d`): another value of one parameter that has steps."""


SHORTLIST = 128
"""Candidates for the further points of a batch."""

CLOSE = 1e-6
"""A gain in one iteration, relative to the value, and a slope that are not worth another."""

TOGETHER, FINALISTS = 8, 2
"""All climbers go so many iterations together, then so many go on. With 12 and `CLOSE`, or with 8 and a tenth of it, this took
two thirds of the evaluations of 60 iterations with all in six and ten dimensions, most of them of two points in place of six, and
missed about as little of the maximum: 1e-6 deviations in the mean."""

MANY_DIMENSIONS, CLOSER = 10, 1e-9
"""In more dimensions all climbers go to the top, until a gain is as small as that: in twenty the short way saved GP-UCB a seventh
of its time and cost it a fifth of its regret (log ratio 0.19 ± 0.08, 12 searches)."""

WALKERS, STEPS = 4, 20
"""So many of the best points that can be tried walk on, so many moves at most."""


class Acquisition(Protocol):
    """What it is worth to try a point, given a posterior: the more the better.

    `GaussianPosterior.differentiable` gives the gradient of whatever is a function of mean and deviation.
    """

    @property
    def posterior(self) -> GaussianPosterior:
        """What is known; the maximiser starts around its best points."""
        ...

    def value(self, points: Array) -> Array:
        """The worth of every one of `points` (`m x d`), shape `m`."""
        ...

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """The worth (`m`) and its gradient (`m x d`) at `points` (`m x d`)."""
        ...


@dataclass(frozen=True)
class UCB:
    """The upper confidence bound, mean + multiplier * deviation."""

    posterior: GaussianPosterior
    multiplier: float

    def value(self, points: Array) -> Array:
        mean, variance = self.posterior.mean_and_variance(points)
        return mean + self.multiplier * np.sqrt(variance)

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        at = self.posterior.differentiable(points)
        return at.mean + self.multiplier * at.deviation, at.gradient(1.0, self.multiplier)


@dataclass(frozen=True)
class Looked:
    """Points that were looked at (`s x d`) and what they are worth (`s`)."""

    points: Array
    values: Array

    @classmethod
    def at(cls, points: Array, acquisition: Acquisition) -> Self:
        """What `points` (`s x d`) are worth by an acquisition."""
        return cls(points, acquisition.value(points))


@dataclass(frozen=True)
class Maximizer:
    """Many quasi-random and local candidates, then a joint quasi-Newton refinement of the best few.

    `raw` Sobol points cover the cube, `local` ones surround the points believed best; never worse than the best of them.
    `refined` of them climb on: 6 by default, 12 in more than ten dimensions (rough posteriors in 36: 54 of 60 maxima with 6, 60
    with 12).
    """

    dim: int
    seed: int
    raw: int = 512
    local: int = 256
    refined: int | None = None
    max_iterations: int = 60

    def __post_init__(self) -> None:
        sobol = sobol_points(self.dim, self.raw, np.random.default_rng([self.seed, 1]))
        object.__setattr__(self, "_sobol", sobol)

    @property
    def climbers(self) -> int:
        """How many candidates are refined."""
        return self.refined or (6 if self.dim <= 10 else 12)

    def candidates(self, posterior: GaussianPosterior, rng: np.random.Generator) -> Array:
        """Rotated Sobol points and perturbed incumbents, shape `(raw + local + incumbents) x d`."""
        spread = (self._sobol + rng.random(self.dim)) % 1.0  # type: ignore[attr-defined]
        if not len(posterior.X):
            return spread
        incumbents = posterior.X[np.argsort(-posterior.mean(posterior.X), kind="stable")[: max(4, self.climbers)]]
        return np.concatenate([spread, self._around(incumbents, posterior.lengthscale, rng), incumbents])

    def _around(self, incumbents: Array, lengthscale: Array, rng: np.random.Generator) -> Array:
        centres = incumbents[rng.integers(len(incumbents), size=self.local)]
        # steps from a hundredth to all of a length-scale; in many dimensions only some coordinates move
        step = np.minimum(lengthscale, 0.5) * 10.0 ** rng.uniform(-2.0, 0.0, (self.local, 1))
        moved = rng.random((self.local, self.dim)) < max(20.0 / self.dim, 0.1)
        moves = np.where(moved, rng.standard_normal((self.local, self.dim)) * step, 0.0)
        return np.clip(centres + moves, 0.0, 1.0)

    def maximize(
        self,
        acquisition: Acquisition,
        rng: np.random.Generator,
        *,
        project: Projection | None = None,
        neighbours: Neighbours | None = None,
        forbidden: Array | None = None,
        pending: Array | None = None,
    ) -> Array:
        """The point (`d`) of largest acquisition.

        What was found is rounded by `project`, which may miss the best point that can be tried: with `neighbours` it moves on
        from there, one parameter at a time.
        `forbidden` points (`m x d`) and the neighbourhood of `pending` ones are left out while others remain: a model that is
        sure of the optimum would otherwise send every free worker to the same place.
        """
        looked = self.look(acquisition, rng)
        return self.best_of(looked, acquisition, project, neighbours, forbidden, pending)

    def look(self, acquisition: Acquisition, rng: np.random.Generator) -> Looked:
        """The candidates, and what they are worth."""
        return Looked.at(self.candidates(acquisition.posterior, rng), acquisition)

    def shortlist(self, looked: Looked) -> Array:
        """The candidates that the further points of a batch are chosen from, shape `s x d`.

        Points that are pending only take from what others are worth, so the next maximum was high before: the best of those
        that cover the cube and the best of those around the incumbents, as many of each.
        """
        order = np.argsort(-looked.values, kind="stable")
        wide, near = order[order < self.raw], order[order >= self.raw]
        return looked.points[np.concatenate([wide[: SHORTLIST // 2], near[: SHORTLIST // 2]])]

    @cached_property
    def lighter(self) -> Maximizer:
        """The maximiser for a shortlist: fewer climbers, and they soon arrive."""
        return replace(self, raw=1, refined=self.climbers // 3, max_iterations=self.max_iterations // 4)

    def best_of(
        self,
        looked: Looked,
        acquisition: Acquisition,
        project: Projection | None,
        neighbours: Neighbours | None,
        forbidden: Array | None,
        pending: Array | None,
    ) -> Array:
        """The best of what was `looked` at and what the best of them climb to, of those that are allowed; shape `d`."""
        candidates, values = looked.points, looked.values
        refined = self._refine(_spread_best(candidates, values, self.climbers), acquisition)
        everything, known = np.concatenate([candidates, refined]), len(candidates)
        if project is not None:
            everything, known = project(everything), 0
        values = np.concatenate([values[:known], acquisition.value(everything[known:])])
        allowed = np.ones(len(everything), dtype=bool)
        for excluded in (taken(everything, forbidden), _crowded(everything, pending)):
            if (allowed & ~excluded).any():
                allowed &= ~excluded
        values = np.where(allowed, values, -np.inf)
        if neighbours is not None:
            everything, values = _walked(everything, values, acquisition, neighbours, (forbidden, pending))
        best: Array = everything[np.argmax(values)]
        return best

    def _refine(self, starts: Array, acquisition: Acquisition) -> Array:
        """Where the `starts` (`r x d`) climb to: all of them some way, and the best of them, once more, to the top."""
        if starts.shape[1] > MANY_DIMENSIONS:
            return _climbed(starts, acquisition, Effort(self.max_iterations, CLOSER, CLOSE))
        if len(starts) <= FINALISTS:
            return _climbed(starts, acquisition, Effort(self.max_iterations, CLOSE, CLOSE))
        some_way = _climbed(starts, acquisition, Effort(TOGETHER, CLOSE, CLOSE))
        leaders = some_way[np.argsort(-acquisition.value(some_way), kind="stable")[:FINALISTS]]
        return np.concatenate([some_way, self._refine(leaders, acquisition)])


def _climbed(starts: Array, acquisition: Acquisition, effort: Effort) -> Array:
    """Climb from all starts (`r x d`) at once: the sum of their values has the gradient of each."""

    def total(flat: Array) -> tuple[float, Array]:
        value, gradient = acquisition.value_and_gradient(flat.reshape(starts.shape))
        return float(value.sum()), gradient.ravel()

    cube = Box(np.zeros(starts.size), np.ones(starts.size))
    flat, _ = ascend(total, starts.ravel(), cube, effort)
    refined: Array = np.clip(flat.reshape(starts.shape), 0.0, 1.0)
    return refined


def _walked(
    points: Array,
    values: Array,
    acquisition: Acquisition,
    neighbours: Neighbours,
    excluded: tuple[Array | None, Array | None],
) -> tuple[Array, Array]:
    """The best of `points` (`m x d`), worth `values` (`m`), and what is better around them, move after move; with its values."""
    forbidden, pending = excluded
    for _ in range(STEPS):
        top = np.argsort(-values, kind="stable")[:WALKERS]
        points, values, best = points[top], values[top], values[top[0]]
        around = np.unique(np.concatenate([neighbours(point) for point in points]), axis=0)
        around = around[~(taken(around, forbidden) | _crowded(around, pending) | taken(around, points))]
        if not len(around):
            break
        points, values = np.concatenate([points, around]), np.append(values, acquisition.value(around))
        if not values.max() > best:
            break
    return points, values


def _spread_best(candidates: Array, values: Array, count: int) -> Array:
    """The `count` best candidates that are not all the same hill: every other one at least 0.05 sqrt(d) apart."""
    ranked = candidates[np.argsort(-values, kind="stable")[:200]]
    apart, distance, chosen = 0.05 * np.sqrt(candidates.shape[1]), np.full(len(ranked), np.inf), [0]
    while len(chosen) < count:
        distance = np.minimum(distance, np.sqrt(((ranked - ranked[chosen[-1]]) ** 2).sum(axis=1)))
        later = np.flatnonzero(distance[chosen[-1] + 1 :] > apart)
        if not len(later):
            break
        chosen.append(chosen[-1] + 1 + int(later[0]))
    return ranked[chosen]


def taken(points: Array, forbidden: Array | None) -> Mask:
    """Which `points` (`m x d`) equal a forbidden one, as booleans of shape `m`."""
    if forbidden is None:
        return np.zeros(len(points), dtype=bool)
    taken = set(as_bytes(forbidden))
    return np.array([row in taken for row in as_bytes(points)], dtype=bool)


def as_bytes(points: Array) -> list[bytes]:
    """Every row of `points` (`m x d`) as bytes, which are equal where the rows are: -0.0 is 0.0."""
    rows = points + 0.0
    together, width = rows.tobytes(), rows.itemsize * rows.shape[1]
    return [together[start : start + width] for start in range(0, len(together), width)]


def _crowded(points: Array, pending: Array | None) -> Mask:
    """Which `points` (`m x d`) are within 0.02 sqrt(d) of a pending one (less when more than 8 are), as booleans."""
    if pending is None or not len(pending):
        return np.zeros(len(points), dtype=bool)
    radius = 0.02 * np.sqrt(points.shape[1]) * min(1.0, 8.0 / len(pending))
    return cdist(points, pending).min(axis=1) < radius
