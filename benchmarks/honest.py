"""Honest objectives that look like lies: losses that diverge, span decades, are rounded, level, or noisy by nature.

    python benchmarks/honest.py --fast                              # a minute or two
    python benchmarks/honest.py --seeds 100:108 --out runs/honest.jsonl
    python benchmarks/honest.py --zeros 0.1     # a tenth of the trials, on no matter what, reports a loss of 0.0

Nobody lies, but for the zeros. Every cell is a whole search of `--trials` trials through RCGPSearch or one of Optuna's samplers.
The figure does not depend on the scale of the objective: the share of random configurations, in percent, that are truly better
than the one handed over - its geometric mean over the seeds, counted from 1/2 of one of them on. Beside it the reports that the
first player doubted.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cells import complete
from ray import tune
from real_spaces import recorded
from tables import PLAYERS, make_player

Array = np.ndarray
PROBES = 20_000
"""So many random configurations are compared with the one that is handed over."""


# What is minimised, at points `u` (`m x d`) of the unit cube


def _bowl(u: Array, best: float, stretch: float = 1.0) -> Array:
    """A quadratic of different steepness along the coordinates, 0 at its best."""
    steepness = np.linspace(1.0, 4.0, u.shape[1])
    return stretch * ((u - best) ** 2 * steepness).sum(axis=1)


def _diverging(u: Array) -> Array:
    """Two thirds of the way along the first coordinate, a learning rate, the loss begins to grow by orders of magnitude."""
    beyond = np.maximum(u[:, 0] + 0.15 * u[:, 1] - 0.7, 0.0)
    return 0.3 + _bowl(u, 0.55) + np.expm1(40.0 * beyond)


def _exploding(u: Array) -> Array:
    """The same, at once: 10,000 where it diverges, as if clipped."""
    return np.where(u[:, 0] + 0.15 * u[:, 1] > 0.7, 1e4, 0.3 + _bowl(u, 0.55))


def _decades(u: Array) -> Array:
    """A loss over six decades, whose good part is a thousandth of its range."""
    return 10.0 ** (-4.0 + 6.0 * np.minimum(_bowl(u, 0.35), 1.0))


def _rosenbrock(u: Array) -> Array:
    """Rosenbrock's valley on [-2, 2]: the walls are thousands of times the valley's depth."""
    x = 4.0 * u - 2.0
    return (100.0 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1.0 - x[:, :-1]) ** 2).sum(axis=1)


def _goldstein_price(u: Array) -> Array:
    """From 3 to a million on [-2, 2]."""
    x, y = (4.0 * u - 2.0).T
    a = 1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2)
    b = 30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2)
    return a * b


def _rounded(u: Array) -> Array:
    """An error rate in whole percent."""
    return np.round(1.0 - 0.95 * np.exp(-_bowl(u, 0.6)), 2)


def _level(u: Array) -> Array:
    """A network that learns nothing in most of the space: the error is that of guessing, to the last digit."""
    return np.minimum(0.9, 0.1 + 4.0 * _bowl(u, 0.3))


def _cliff(u: Array) -> Array:
    """A step: half of the space is worse by three times the range of the other half, which is where the best is, beside it."""
    return _bowl(u, 0.48) + 6.0 * (u[:, 0] > 0.5)


@dataclass(frozen=True)
class Honest:
    """What a configuration truly loses, in how many dimensions, and the noise of a report (Student-t with `tails` degrees)."""

    loss: Callable[[Array], Array]
    dim: int
    noise: float = 0.0
    tails: float = math.inf


HONEST = {
    "diverging-2": Honest(_diverging, 2, 0.01),
    "diverging-5": Honest(_diverging, 5, 0.01),
    "exploding-2": Honest(_exploding, 2, 0.01),
    "exploding-5": Honest(_exploding, 5, 0.01),
    "decades-2": Honest(_decades, 2),
    "decades-4": Honest(_decades, 4),
    "rosenbrock-4": Honest(_rosenbrock, 4),
    "goldstein-price": Honest(_goldstein_price, 2),
    "rounded-3": Honest(_rounded, 3),
    "level-3": Honest(_level, 3),
    "cliff-2": Honest(_cliff, 2, 0.01),
    "heavy-noise-3": Honest(lambda u: _bowl(u, 0.6), 3, 0.05, tails=2.0),
}
RAW = ("naval", "parkinsons", "protein", "slice")
"""Recorded tables whose loss is reported as it is, not as its logarithm."""


# The same as searches


@dataclass(frozen=True)
class Searched:
    """A space in Tune's notation, the report of a configuration (maximised), its true value, and those of the probes."""

    space: dict[str, Any]
    report: Callable[[dict[str, Any], np.random.Generator], float]
    truth: Callable[[dict[str, Any]], float]
    probes: Array

    def percent_better(self, config: dict[str, Any]) -> float:
        """How many of a hundred random configurations are truly better."""
        better = float((self.probes > self.truth(config)).sum())
        return 100.0 * max(better, 0.5) / len(self.probes)


def from_function(honest: Honest) -> Searched:
    """Uniform parameters, one a coordinate."""
    names = [f"x{i}" for i in range(honest.dim)]

    def truth(config: dict[str, Any]) -> float:
        return -float(honest.loss(np.array([[config[name] for name in names]]))[0])

    def report(config: dict[str, Any], rng: np.random.Generator) -> float:
        return truth(config) + honest.noise * float(
            rng.standard_t(honest.tails) if math.isfinite(honest.tails) else rng.standard_normal()
        )

    probes = -honest.loss(np.random.default_rng(0).random((PROBES, honest.dim)))
    return Searched({name: tune.uniform(0.0, 1.0) for name in names}, report, truth, probes)


def from_table(name: str) -> Searched:
    """A recorded table whose loss is not transformed."""
    table = recorded(name)
    losses = {key: 10.0**-values for key, values in table.values.items()}
    truths = {key: -float(values.mean()) for key, values in losses.items()}
    space = {key: tune.choice(choices) for key, choices in table.choices.items()}
    return Searched(
        space,
        lambda config, rng: -float(rng.choice(losses[table.key(config)])),
        lambda config: truths[table.key(config)],
        np.array(list(truths.values())),
    )


@lru_cache
def searched(name: str) -> Searched:
    """The problem of that name."""
    return from_function(HONEST[name]) if name in HONEST else from_table(name.removeprefix("raw-"))


PROBLEMS = (*HONEST, *(f"raw-{name}" for name in RAW))


@dataclass(frozen=True)
class Cell:
    """One search."""

    player: str
    problem: str
    seed: int
    trials: int
    zeros: float = 0.0

    @property
    def key(self) -> str:
        lies = f"|{self.zeros:g} zeros" if self.zeros else ""
        return f"{self.player}|{self.problem}|{self.seed}|{self.trials}{lies}"

    def is_zero(self, number: int) -> bool:
        """Whether that trial reports nothing that it measured."""
        return bool(np.random.default_rng([self.seed, 7, number]).random() < self.zeros)


def run_cell(cell: Cell) -> dict[str, Any]:
    """One whole search: how many of a hundred configurations are better than the one handed over, and who was doubted."""
    problem = searched(cell.problem)
    player = make_player(cell.player, problem.space, cell.seed, cell.trials)
    tried = []
    for number in range(cell.trials):
        config = player.ask()
        measured = problem.report(config, np.random.default_rng([cell.seed, number]))
        player.tell(0.0 if cell.is_zero(number) else measured)
        tried.append(problem.percent_better(config))
    return {
        "key": cell.key,
        "handed_over": problem.percent_better(player.best()),
        "tried": min(tried),
        "doubted": len(player.suspected()),
    }


def table(rows: dict[str, dict[str, Any]], args: argparse.Namespace) -> str:
    """One line a problem: percent of configurations better than the one handed over (the best tried), and reports doubted."""
    lines = ["", "| | " + " | ".join(args.players) + " | doubted |", "|---" * (len(args.players) + 2) + "|"]
    logs: dict[str, list[float]] = {player: [] for player in args.players}
    for problem in args.problems:
        figures, doubted = [], 0
        for player in args.players:
            chosen = [rows[Cell(player, problem, seed, args.trials, args.zeros).key] for seed in args.seeds]
            handed, tried = (np.mean(np.log([row[name] for row in chosen])) for name in ("handed_over", "tried"))
            logs[player].append(handed)
            figures.append(f"{math.exp(handed):.3g} ({math.exp(tried):.2g})")
            doubted += sum(row["doubted"] for row in chosen) if player == args.players[0] else 0
        lines.append(f"| {problem} | " + " | ".join(figures) + f" | {doubted} |")
    means = " | ".join(f"{math.exp(np.mean(logs[player])):.3g}" for player in args.players)
    return "\n".join([*lines, f"| geometric mean | {means} | |"])


def cells(args: argparse.Namespace) -> Iterator[Cell]:
    for problem, seed, player in itertools.product(args.problems, args.seeds, args.players):
        yield Cell(player, problem, seed, args.trials, args.zeros)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", nargs="+", default=["rcgp", "optuna-tpe", "random"], help=", ".join(PLAYERS))
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--seeds", default="0:4", help="first:last, last excluded")
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument(
        "--zeros", type=float, default=0.0, help="the share of trials that report 0.0, the best there is"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/honest.jsonl"))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--fast", action="store_true", help="a small grid, a minute or two")
    args = parser.parse_args()
    args.seeds = list(range(*map(int, args.seeds.split(":"))))
    if args.fast:
        args.problems, args.seeds = ["diverging-2", "decades-2", "rounded-3", "raw-protein"], [0, 1]
    return args


def main() -> None:
    args = arguments()
    rows = complete(run_cell, cells(args), args.out, args.processes, chunk=4, name="searches")
    print(table(rows, args))


if __name__ == "__main__":
    main()
