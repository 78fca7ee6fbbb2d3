"""Batches: what eight suggestions at once cost, and whether they are as good as eight one after the other.

    python benchmarks/batches.py [--seeds 6] [--rounds 10]

Prints processor time as ratios of one suggestion, and regret over rounds of eight trials on seeds from 100.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from objectives import make_objective
from rcgp import Optimizer, make_optimizer
from rcgp.gaussian import Array

SIZE = 8
PROBLEMS = ("branin", "hartmann6")


def one_by_one(optimizer: Optimizer) -> Array:
    """Eight points, each asked for with those before it pending."""
    points = np.empty((0, optimizer.dim))
    while len(points) < SIZE:
        points = np.concatenate([points, optimizer.ask(points)[None]])
    return points


def at_once(optimizer: Optimizer) -> Array:
    """Eight points by `ask_batch`."""
    return optimizer.ask_batch(SIZE)


WAYS: dict[str, Callable[[Optimizer], Array]] = {"one by one": one_by_one, "at once": at_once}


def cost(n: int, dim: int, repeats: int = 5) -> None:
    """Processor time of a batch by either way against one suggestion, after a new observation each."""
    optimizer = make_optimizer("a2-rcgp-ucb", dim=dim, seed=1, n_initial=5, horizon=2 * n)
    rng = np.random.default_rng(0)
    for x in rng.random((n, dim)):
        optimizer.tell(x, -float(np.sum((x - 0.4) ** 2)) + 0.05 * float(rng.standard_normal()))
    optimizer.update()
    spent: dict[str, list[float]] = {"one": [], **{way: [] for way in WAYS}}
    for x in rng.random((repeats, dim)):
        optimizer.tell(x, -float(np.sum((x - 0.4) ** 2)))
        state = optimizer.state_dict()
        for name, ask in {"one": Optimizer.ask, **WAYS}.items():
            optimizer.load_state_dict(state)
            begin = time.process_time()
            ask(optimizer)
            spent[name].append(time.process_time() - begin)
    one, *batches = (1000 * float(np.median(seconds)) for seconds in spent.values())
    told = ", ".join(f"{way} {ms:.0f} ms ({ms / one:.1f})" for way, ms in zip(WAYS, batches, strict=True))
    print(f"n = {n}, d = {dim}: one {one:.1f} ms; eight {told}  target <= 2.5 at n = 300, d = 6")


def regret(problem: str, way: str, seed: int, rounds: int) -> tuple[float, float]:
    """Cumulative and simple regret after so many rounds of eight trials."""
    objective = make_objective(problem)
    optimizer = make_optimizer("a2-rcgp-ucb", dim=objective.dim, seed=seed, n_initial=SIZE, horizon=SIZE * rounds)
    rng, values = np.random.default_rng([seed, 9]), []
    for _ in range(rounds):
        for x in WAYS[way](optimizer):
            optimizer.tell(x, objective.evaluate(x, rng))
            values.append(objective.noiseless(x))
    assert objective.optimum is not None
    lost = objective.optimum.value - np.array(values, dtype=float)
    return float(lost[SIZE:].sum()), float(lost.min())


def main() -> None:
    """Print costs, then regrets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    for n, dim in ((100, 6), (300, 6), (200, 10)):
        cost(n, dim)
    for problem in PROBLEMS:
        for way in WAYS:
            found = np.array([regret(problem, way, 100 + seed, given.rounds) for seed in range(given.seeds)])
            mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
            total, best = (f"{m:.3g} ± {e:.2g}" for m, e in zip(mean, error, strict=True))
            print(f"{problem:>9}, {way:>10}: cumulative {total}, best tried {best} ({given.seeds} seeds)")


if __name__ == "__main__":
    main()
