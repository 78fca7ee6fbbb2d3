"""Three thousand rows: what is lost by a choice of 1,500 of them, and what nearest rows or inducing points would lose.

    python benchmarks/many_rows.py [--problems hartmann6 ackley levy] [--seeds 0 1]

Rows gather around the best place as those of a search do, a third are anywhere; nobody lies. Every model has the hyper-parameters
that were fitted to the choice of 1,500. Prints the error of the posterior mean in the whole cube and around the best place, how
far below the maximum the row is that would be handed over, and processor time: to condition, and to look at as many candidates as
a suggestion does.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.linalg import solve_triangular

from objectives import Objective, make_objective
from rcgp import make_optimizer
from rcgp.fit import Hyperparameters
from rcgp.gaussian import VALUES, Array, GaussianPosterior, Mask, Rows, cholesky, diagonal_of, squared_distance

ALL, CHOSEN, CANDIDATES, AROUND = 3000, 1500, 774, 150
KERNEL = "matern52"


class Model(Protocol):
    """Whoever says what to expect at points (`m x d`): mean and variance (`m` each)."""

    def mean_and_variance(self, points: Array) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class Known:
    """Rows, their scaled reports, the hyper-parameters, which rows are chosen now, and the best of them (`d`)."""

    X: Array
    z: Array
    hyper: Hyperparameters
    chosen: Mask
    best: Array

    def exact(self, rows: Mask | Rows) -> GaussianPosterior:
        """The posterior given some of the rows."""
        noise = self.hyper.noise
        X, noises = self.X[rows], np.full(len(self.X[rows]), noise)
        return GaussianPosterior.condition(X, self.z[rows], noises, self.hyper.lengthscale, KERNEL, noise)

    def nearest(self) -> Rows:
        """The rows nearest to the best place, in order."""
        return np.argsort(squared_distance(self.best[None], self.X, self.hyper.lengthscale)[0])[:CHOSEN]

    def half_and_half(self) -> Rows:
        """Half of them nearest to the best place, half evenly spread over time."""
        evenly = np.linspace(0, len(self.X) - 1, CHOSEN // 2).astype(int)
        return np.unique(np.concatenate([self.nearest()[: CHOSEN // 2], evenly]))


class Induced:
    """All rows, summed up in some of their places (Titsias): those that are farthest from each other, in length-scales."""

    def __init__(self, known: Known, places: int) -> None:
        noise, self._lengthscale = known.hyper.noise, known.hyper.lengthscale
        self._Z = known.X[_farthest(known.X / self._lengthscale, places)]
        own = self._kernel(self._Z)
        diagonal_of(own)[:] += 1e-6
        self._root = cholesky(own)
        A = solve_triangular(self._root, self._kernel(known.X), lower=True) / np.sqrt(noise)
        inner = A @ A.T
        diagonal_of(inner)[:] += 1.0
        self._inner = cholesky(inner)
        self._pull = solve_triangular(self._inner, A @ known.z, lower=True) / np.sqrt(noise)

    def _kernel(self, points: Array) -> Array:
        return VALUES[KERNEL](squared_distance(self._Z, points, self._lengthscale))

    def mean_and_variance(self, points: Array) -> tuple[Array, Array]:
        """What to expect at `points` (`m x d`), both `m`."""
        seen = solve_triangular(self._root, self._kernel(points), lower=True)
        known = solve_triangular(self._inner, seen, lower=True)
        return known.T @ self._pull, 1.0 - np.sum(seen**2, axis=0) + np.sum(known**2, axis=0)


@dataclass(frozen=True)
class Neighbourhoods:
    """For every point a model of its own, of the nearest rows."""

    known: Known

    def mean_and_variance(self, points: Array) -> tuple[Array, Array]:
        """What to expect at `points` (`m x d`), both `m`."""
        distance = squared_distance(points, self.known.X, self.known.hyper.lengthscale)
        near = np.argpartition(distance, AROUND, axis=1)[:, :AROUND]
        found = np.array([self._one(point, rows) for point, rows in zip(points, near, strict=True)])
        return found[:, 0], found[:, 1]

    def _one(self, point: Array, rows: Rows) -> tuple[float, float]:
        known = self.known
        kernel, lengthscale = VALUES[KERNEL], known.hyper.lengthscale
        own = kernel(squared_distance(known.X[rows], known.X[rows], lengthscale))
        diagonal_of(own)[:] += known.hyper.noise
        root = cholesky(own)
        sides = np.stack([kernel(squared_distance(point[None], known.X[rows], lengthscale))[0], known.z[rows]], axis=1)
        solved = solve_triangular(root, sides, lower=True)
        return float(solved[:, 0] @ solved[:, 1]), 1.0 - float(solved[:, 0] @ solved[:, 0])


WAYS: dict[str, Callable[[Known], Model]] = {
    "all rows": lambda known: known.exact(np.arange(len(known.X))),
    "1,500 as now": lambda known: known.exact(known.chosen),
    "1,500 nearest to the best": lambda known: known.exact(known.nearest()),
    "750 nearest, 750 evenly": lambda known: known.exact(known.half_and_half()),
    "500 inducing points": lambda known: Induced(known, 500),
    "1,000 inducing points": lambda known: Induced(known, 1000),
    "every point its 150 nearest": Neighbourhoods,
}


def _farthest(points: Array, count: int) -> list[int]:
    chosen, distance = [0], np.full(len(points), np.inf)
    while len(chosen) < count:
        distance = np.minimum(distance, np.sum((points - points[chosen[-1]]) ** 2, axis=1))
        chosen.append(int(np.argmax(distance)))
    return chosen


def rows(objective: Objective, best: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows (`n x d`) as a search leaves them, and their reports (`n`)."""
    width = np.geomspace(1.0, 0.05, ALL)[:, None]
    X = np.clip(best + width * (rng.random((ALL, objective.dim)) - 0.5), 0.0, 1.0)
    anywhere = rng.random(ALL) < 0.3
    X[anywhere] = rng.random((int(anywhere.sum()), objective.dim))
    return X, values(objective, X) + 0.05 * rng.standard_normal(ALL)


def values(objective: Objective, points: Array) -> Array:
    """The true values (`m`) at `points` (`m x d`)."""
    return np.array([objective.noiseless(x) for x in points], dtype=float)


def compare(problem: str, seed: int) -> None:
    """Print a line for every way."""
    objective, rng = make_objective(problem), np.random.default_rng([seed, 5])
    assert objective.optimum is not None
    best = np.array(objective.optimum.x)
    X, y = rows(objective, best, rng)
    optimizer = make_optimizer("gp-ucb", dim=objective.dim, seed=seed, n_initial=8, max_rows=CHOSEN, kernel=KERNEL)
    for x, report in zip(X, y, strict=True):
        optimizer.tell(x, float(report))
    optimizer.update()
    state = optimizer._committed
    assert state is not None
    known = Known(X, state.scaling.to_scaled(y), state.hyper, state.kept, X[int(np.argmax(y))])
    cube, near = rng.random((600, objective.dim)), best + 0.2 * (rng.random((600, objective.dim)) - 0.5)
    for name, make in WAYS.items():
        begin = time.process_time()
        model = make(known)
        made = time.process_time() - begin
        model.mean_and_variance(rng.random((CANDIDATES, objective.dim)))
        looked = time.process_time() - begin - made
        off = [
            np.sqrt(np.mean((state.scaling.to_units(model.mean_and_variance(p)[0]) - values(objective, p)) ** 2))
            for p in (cube, np.clip(near, 0.0, 1.0))
        ]
        handed = X[int(np.argmax(model.mean_and_variance(X)[0]))]
        print(
            f"{problem}, seed {seed}, {name:>27}: error {off[0]:.3f} in the cube, {off[1]:.4f} around the best;"
            f" handed over {objective.optimum.value - values(objective, handed[None])[0]:.4f} below the maximum;"
            f" {made:.2f} s and {looked:.2f} s"
        )


def main() -> None:
    """Print every problem and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="+", default=["hartmann6", "ackley", "levy"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    given = parser.parse_args()
    for problem in given.problems:
        for seed in given.seeds:
            compare(problem, seed)


if __name__ == "__main__":
    main()
