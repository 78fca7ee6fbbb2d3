"""What is handed over after so many trials: RCGPSearch beside Optuna's samplers on 45 functions of 1 to 20 dimensions.

    python benchmarks/answers.py --fast                              # a minute or two
    python benchmarks/answers.py --seeds 100:104 --players rcgp optuna-tpe optuna-gp random

Every cell is a whole search of `--trials` trials with the defaults of the player. The figure is the true regret of the
configuration that is handed over, in units of a random one's: its mean, and its geometric mean from a thousandth on; in brackets
the best that was tried. Failures: a tenth of the reports is off by ten ranges (`spike`), or every fifth is another
configuration's (`bad-node`).
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cells import Rows, complete
from problems import PROBLEMS, Problem
from ray import tune
from tables import NODES, PLAYERS, Cell, make_player

ANSWERED = [name for name in PROBLEMS if name not in ("lander", "forrester-100")]
LEAST = 1e-3
"""Nobody minds a thousandth of a random configuration's regret."""


def reported(y: float, number: int, failure: str, problem: Problem, rng: np.random.Generator) -> float:
    """What arrives in place of the report `y` of that trial."""
    if failure == "spike" and rng.random() < 0.1:
        return y + 10.0 * problem.reach * float(rng.choice([-1.0, 1.0]))
    if failure == "bad-node" and (number + 1) % NODES == 0:
        objective = problem.make()
        return float(objective.evaluate(rng.random(objective.dim), rng))
    return y


def run_cell(cell: Cell) -> dict[str, Any]:
    """One whole search: the true regret of what it hands over and of the best it tried, in units of a random point's."""
    problem = PROBLEMS[cell.problem]
    objective = problem.make()
    names = [f"x{i}" for i in range(objective.dim)]
    player = make_player(cell.player, {name: tune.uniform(0.0, 1.0) for name in names}, cell.seed, cell.trials)

    def regret(config: dict[str, Any]) -> float:
        lost = objective.optimum.value - objective.noiseless(np.array([config[name] for name in names]))
        return float(lost) / problem.typical_regret

    tried = []
    for number in range(cell.trials):
        config = player.ask()
        y = objective.evaluate(np.array([config[name] for name in names]), np.random.default_rng([cell.seed, number]))
        player.tell(reported(y, number, cell.failure, problem, np.random.default_rng([cell.seed, number, 1])))
        tried.append(regret(config))
    return {"key": cell.key, "handed_over": regret(player.best()), "tried": min(tried)}


def table(rows: Rows, args: argparse.Namespace, failure: str) -> str:
    """One line a problem: the regret of what every player hands over (of the best it tried)."""
    lines = [f"\n### {failure}", "", "| | " + " | ".join(args.players) + " |", "|---" * (len(args.players) + 1) + "|"]
    means: dict[str, list[tuple[float, float]]] = {player: [] for player in args.players}
    for problem in args.problems:
        figures = []
        for player in args.players:
            chosen = [rows[Cell(player, problem, failure, seed, args.trials).key] for seed in args.seeds]
            handed, tried = (np.array([row[name] for row in chosen]) for name in ("handed_over", "tried"))
            means[player].append((float(handed.mean()), float(np.mean(np.log(np.maximum(handed, LEAST))))))
            figures.append(f"{handed.mean():.3f} ({tried.mean():.3f})")
        lines.append(f"| {problem} | " + " | ".join(figures) + " |")
    averages = [np.mean(means[player], axis=0) for player in args.players]
    lines.append("| mean | " + " | ".join(f"{mean:.3f}" for mean, _ in averages) + " |")
    return "\n".join([*lines, "| geometric mean | " + " | ".join(f"{math.exp(log):.4f}" for _, log in averages) + " |"])


def cells(args: argparse.Namespace) -> Iterator[Cell]:
    for failure, problem, seed, player in itertools.product(args.failures, args.problems, args.seeds, args.players):
        yield Cell(player, problem, failure, seed, args.trials)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", nargs="+", default=["rcgp", "optuna-tpe", "optuna-gp"], help=", ".join(PLAYERS))
    parser.add_argument("--problems", nargs="+", default=ANSWERED, choices=ANSWERED)
    parser.add_argument("--failures", nargs="+", default=["none"], choices=["none", "spike", "bad-node"])
    parser.add_argument("--seeds", default="0:4", help="first:last, last excluded")
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--out", type=Path, default=Path("runs/answers.jsonl"))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--fast", action="store_true", help="a small grid, a minute or two")
    args = parser.parse_args()
    args.seeds = list(range(*map(int, args.seeds.split(":"))))
    if args.fast:
        args.problems, args.seeds = ["branin", "eggholder", "hills2", "hartmann6"], [0, 1]
    return args


def main() -> None:
    args = arguments()
    rows = complete(run_cell, cells(args), args.out, args.processes, chunk=4, name="searches")
    for failure in args.failures:
        print(table(rows, args, failure))


if __name__ == "__main__":
    main()
