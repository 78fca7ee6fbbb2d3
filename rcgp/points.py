"""Points of the unit cube: those that people hand over, checked, and the quasi-random ones that need no model."""

from __future__ import annotations

import numpy as np

from rcgp.acquisition import Projection
from rcgp.gaussian import Array
from rcgp.sobol import sobol_points


def checked_points(points: Array | None, dim: int, name: str) -> Array:
    """The points as rows (`m x dim`); None is none. What lies outside the cube, or has another shape, is refused."""
    array = np.empty((0, dim)) if points is None else np.asarray(points, dtype=float)
    if array.size == 0:
        return np.empty((0, dim))
    if array.ndim != 2 or array.shape[1] != dim:
        raise ValueError(f"{name} must have shape m x {dim}, got {' x '.join(map(str, array.shape))}.")
    outside = ~((array >= 0.0) & (array <= 1.0))
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise ValueError(f"{name}[{row}, {column}] = {array[row, column]} lies outside the unit cube [0, 1].")
    return array


def quasi_random(dim: int, seed: int, index: int, project: Projection | None, known: Array | None) -> Array:
    """Point number `index` (shape `dim`) of the seed's scrambled Sobol sequence; moved on while it repeats a `known` one."""
    points = sobol_points(dim, 1 << max(4, index.bit_length() + 1), np.random.default_rng([seed, 0]))[index:]
    if project is not None:
        points = project(points)
    if known is not None:
        repeated = {row.tobytes() for row in known + 0.0}
        points = np.array([row for row in points + 0.0 if row.tobytes() not in repeated] or points)
    point: Array = points[0]
    return point
