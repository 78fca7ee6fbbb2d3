"""How many lies a model bears: the error of the posterior mean over that of the Gaussian process on the honest rows alone.

    python benchmarks/contamination.py --fast                   # under a minute
    python benchmarks/contamination.py                          # the whole table
    python benchmarks/contamination.py --methods ours one-by-one --sizes 60 --seeds 0:3
    python benchmarks/contamination.py --methods relevance-pursuit --sizes 60 --dims 1 2

The data are fixed: a draw from a Gaussian process (Matern-5/2, length-scale sqrt(d)/4) at uniform points, noise 0.1, and some
rows that say 3 to 9 deviations of the objective too much or too little: `two-sided`, `one-sided` (all too much), or `cluster`
(one-sided, and they are the rows nearest to one point: nobody honest is left there). The error is the mean absolute one at 500
other points, averaged over seeds. `ours` is told all rows at once, `one-by-one` one after the other with an update after each.
"""

from __future__ import annotations

import argparse
import itertools
import math
import multiprocessing
import os
from collections.abc import Callable
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from rcgp.adaptive import AdaptiveSurrogate
from rcgp.gaussian import KERNELS, Array, Mask, cholesky, squared_distance
from rcgp.surrogates import DiagnosticsSurrogate, GaussianSurrogate, StudentTSurrogate, Surrogate

NOISE, TESTS = 0.1, 500
SIZES, DIMS, FRACTIONS = (60, 150, 300), (1, 2, 6), (0.0, 0.05, 0.1, 0.2, 0.3)
KINDS = ("two-sided", "one-sided", "cluster")
Model = Callable[[Array, Array, Array], Array]
"""From rows (`n x d` and `n`) and test points (`m x d`) to the posterior mean there (`m`)."""


@dataclass(frozen=True)
class Cell:
    """One fixed set of rows, and how much of it is lies."""

    n: int
    dim: int
    fraction: float
    kind: str
    seed: int


@dataclass(frozen=True)
class Sample:
    """Rows `X` (`n x d`) and `y` (`n`), which of them lie, and the objective `truth` at `tests`."""

    X: Array
    y: Array
    lies: Mask
    tests: Array
    truth: Array


def draw(cell: Cell) -> Sample:
    """The rows of a cell; fraction and kind change nothing but the lies."""
    rng = np.random.default_rng([cell.seed, cell.n, cell.dim])
    points = rng.random((cell.n + TESTS, cell.dim))
    gram, _ = KERNELS["matern52"](squared_distance(points, points, np.full(cell.dim, math.sqrt(cell.dim) / 4)))
    gram[np.diag_indices(len(gram))] += 1e-8
    objective = cholesky(gram) @ rng.standard_normal(len(points))
    X, y = points[: cell.n], objective[: cell.n] + NOISE * rng.standard_normal(cell.n)
    lies = liars(X, cell, rng)
    sign = rng.choice([-1.0, 1.0], cell.n) if cell.kind == "two-sided" else 1.0
    y = np.where(lies, y + sign * rng.uniform(3.0, 9.0, cell.n), y)
    return Sample(X, y, lies, points[cell.n :], objective[cell.n :])


def liars(X: Array, cell: Cell, rng: np.random.Generator) -> Mask:
    """Which rows (`n`, boolean) lie: any, or those nearest to one of them."""
    order = rng.permutation(cell.n)
    if cell.kind == "cluster":
        order = np.argsort(np.linalg.norm(X - X[order[0]], axis=1), kind="stable")
    lies = np.zeros(cell.n, dtype=bool)
    lies[order[: round(cell.fraction * cell.n)]] = True
    return lies


def at_once(surrogate: Surrogate) -> Model:
    """All rows told at once."""

    def model(X: Array, y: Array, tests: Array) -> Array:
        state = surrogate.update(X, y, None)
        return state.scaling.to_units(state.posterior(X, y, surrogate.kernel).mean(tests))

    return model


def one_by_one(surrogate: Surrogate, first: int = 5) -> Model:
    """The `first` rows told at once, every other one by itself."""

    def model(X: Array, y: Array, tests: Array) -> Array:
        state = None
        for n in range(first, len(y) + 1):
            state = surrogate.update(X[:n], y[:n], state)
        assert state is not None
        return state.scaling.to_units(state.posterior(X, y, surrogate.kernel).mean(tests))

    return model


def relevance_pursuit(X: Array, y: Array, tests: Array) -> Array:
    """BoTorch's robust relevance pursuit as its tutorial runs it."""
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models.robust_relevance_pursuit_model import RobustRelevancePursuitSingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    model = RobustRelevancePursuitSingleTaskGP(
        torch.from_numpy(X), torch.from_numpy((y - y.mean()) / y.std(ddof=1))[:, None]
    )
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    with torch.no_grad():
        mean: Array = model.posterior(torch.from_numpy(tests)).mean[:, 0].numpy()
    return y.mean() + y.std(ddof=1) * mean


HONEST = at_once(GaussianSurrogate())
METHODS: dict[str, Model] = {
    "ours": at_once(AdaptiveSurrogate()),
    "one-by-one": one_by_one(AdaptiveSurrogate()),
    "gp": HONEST,
    "paper": at_once(AdaptiveSurrogate(recipe="paper")),
    "student-t": at_once(StudentTSurrogate()),
    "diagnostics-gp": at_once(DiagnosticsSurrogate()),
    "relevance-pursuit": relevance_pursuit,
}
DEFAULT = ("ours", "gp", "paper", "student-t", "diagnostics-gp")
Errors = dict[str, float]


def measure(task: tuple[Cell, tuple[str, ...]]) -> tuple[Cell, Errors]:
    """Mean absolute error of every method on a cell, and of the Gaussian process that is told the honest rows only."""
    cell, methods = task
    sample = draw(cell)

    def error(model: Model, rows: Mask) -> float:
        return float(np.mean(np.abs(model(sample.X[rows], sample.y[rows], sample.tests) - sample.truth)))

    everybody = np.full(cell.n, True)
    errors = {name: error(METHODS[name], everybody) for name in methods}
    return cell, errors | {"honest": error(HONEST, ~sample.lies)}


def grid(args: argparse.Namespace) -> list[Cell]:
    """Every cell; without lies their kinds are all the same, so that one is enough."""
    kinds = [(fraction, kind) for fraction in args.fractions for kind in (args.kinds if fraction else args.kinds[:1])]
    return [
        Cell(n, dim, fraction, kind, seed)
        for n, dim, (fraction, kind), seed in itertools.product(args.sizes, args.dims, kinds, args.seeds)
    ]


def table(results: dict[Cell, Errors], args: argparse.Namespace) -> str:
    """One line for every size, dimension and kind of lies: the honest rows' error, and every method's as a multiple of it."""
    lines = ["| n | d | lies | error of the honest rows | " + " | ".join(args.methods) + " |"]
    lines.append("|---" * (4 + len(args.methods)) + "|")
    groups: dict[tuple[int, int, float, str], list[Errors]] = {}
    for cell, errors in results.items():
        groups.setdefault((cell.n, cell.dim, cell.fraction, cell.kind), []).append(errors)
    ratios: dict[float, list[list[float]]] = {}
    for (n, dim, fraction, kind), group in groups.items():
        honest = np.mean([errors["honest"] for errors in group])
        each = [float(np.mean([errors[name] for errors in group]) / honest) for name in args.methods]
        ratios.setdefault(fraction, []).append(each)
        what = f"{fraction:.0%} {kind}" if fraction else "none"
        lines.append(f"| {n} | {dim} | {what} | {honest:.3f} | " + " | ".join(f"{r:.2f}" for r in each) + " |")
    for fraction, rows in sorted(ratios.items()):
        means, worst = np.exp(np.mean(np.log(rows), axis=0)), np.max(rows, axis=0)
        cells = " | ".join(f"{m:.2f}, {w:.2f}" for m, w in zip(means, worst, strict=True))
        lines.append(f"| all | all | {fraction:.0%}: mean, worst | | {cells} |")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(DEFAULT), choices=list(METHODS))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--dims", nargs="+", type=int, default=list(DIMS))
    parser.add_argument("--fractions", nargs="+", type=float, default=list(FRACTIONS))
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--seeds", default="0:5", help="first:last, last excluded")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--fast", action="store_true", help="a small table, under a minute")
    args = parser.parse_args()
    args.seeds = list(range(*map(int, args.seeds.split(":"))))
    if args.fast:
        args.sizes, args.dims, args.fractions, args.seeds = [60], [1, 2], [0.0, 0.1, 0.2], [0, 1]
    return args


def main() -> None:
    args = arguments()
    tasks = [(cell, tuple(args.methods)) for cell in grid(args)]
    if args.processes == 1:
        results = dict(map(measure, tasks))
    else:
        with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
            results = dict(pool.imap(measure, tasks))
    print(table(results, args))


if __name__ == "__main__":
    main()
