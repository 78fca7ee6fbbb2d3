"""How often the place of failures is told where they have one, and where they have none.

Uniform trials. At random: a share of all trials fails. In a region: nine tenths of those above 0.7 of the first coordinate fail,
one in twenty elsewhere. Counted are the searches in which a parameter is named, and in the region whether it is the right one.
"""

import argparse

import numpy as np
from numpy.typing import NDArray

from orchestrator.failures import Coordinate, failures_of

RATES = (0.1, 0.3)


def named(points: NDArray[np.float64], failed: NDArray[np.bool_]) -> str:
    """The parameter that tells the failures best; nothing where none does."""
    coordinates = [Coordinate(f"x{i}", points[:, i].tolist(), ordered=True) for i in range(points.shape[1])]
    found = failures_of(failed, (), coordinates, points)
    return found.telling[0].rule.name if found is not None and found.telling else ""


def count(trials: int, dim: int, searches: int, rate: float | None) -> int:
    """In how many searches a parameter is named: any where failures strike at a `rate`, the right one where they have a place."""
    rng, hits = np.random.default_rng([trials, dim]), 0
    for _ in range(searches):
        points = rng.random((trials, dim))
        if rate is None:
            failed = ((points[:, 0] > 0.7) & (rng.random(trials) < 0.9)) | (rng.random(trials) < 0.05)
            hits += named(points, failed) == "x0"
        else:
            hits += bool(named(points, rng.random(trials) < rate))
    return hits


def main() -> None:
    """Print a row for each number of trials and dimensions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, nargs="+", default=[30, 60, 200])
    parser.add_argument("--dims", type=int, nargs="+", default=[1, 2, 6, 20])
    parser.add_argument("--searches", type=int, default=40)
    given = parser.parse_args()
    print("| trials | dimensions | named at random, a tenth fails | three tenths fail | named rightly in a region |")
    print("|---|---|---|---|---|")
    for trials in given.trials:
        for dim in given.dims:
            cells = [count(trials, dim, given.searches, rate) for rate in (*RATES, None)]
            print(
                f"| {trials} | {dim} | " + " | ".join(f"{cell} of {given.searches}" for cell in cells) + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
