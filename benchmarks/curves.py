"""Early stopping without being misled: regret of what is recommended at equal resource, under ASHA, with and without lies.

    python benchmarks/curves.py --seeds 100:104 --problems slow          # a minute or two
    python benchmarks/curves.py --seeds 100:110 --out results/curves.jsonl

Four workers in simulated time spend `--epochs` epochs; ASHA has grace 1, reduction 3, 27 epochs. Trial number and
seed give noise and lies, the same for every player. Regret is that of the true mean final value, in units of a random point's.
Lies: "rungs" replaces every report on the way with probability 0.1, "finals" every report at the full budget with probability
0.2, by a number drawn from the range of the objective. Peers hand over the best report among the trials that ran longest.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from asha import Asha, play
from cells import compute, load
from curve_problems import PROBLEMS, typical_regret
from curve_table import EPOCHS

from orchestrator.halving import Mercy
from rcgp import make_optimizer
from rcgp.gaussian import Array

LIES = {"none": (0.0, 0.0), "rungs": (0.1, 0.0), "finals": (0.0, 0.2)}
"""Probability that a report on the way, and at the end, is a lie."""
WORKERS, STARTUP = 4, 8
"""Workers, and the random trials of TPE; `RCGPSearch` has two for each parameter, at least four, and so has it here."""


class Halved:
    """What all players under ASHA share: who is running, and how the best report is found."""

    def __init__(self, dim: int, seed: int) -> None:
        self.dim, self.seed, self.scheduler = dim, seed, Asha(EPOCHS)
        self.running: dict[int, Array] = {}
        self.ended: list[tuple[Array, list[float]]] = []

    def suggest(self, number: int) -> Array:
        return np.random.default_rng([self.seed, 77, number]).random(self.dim)

    def learn(self, number: int, x: Array, curve: list[float]) -> None:
        """Nothing, where points are random."""

    def ask(self, number: int) -> Array:
        self.running[number] = self.suggest(number)
        return self.running[number]

    def stops(self, number: int, epoch: int, value: float) -> bool:
        return self.scheduler.stops(number, epoch, value)

    def end(self, number: int, curve: list[float]) -> None:
        x = self.running.pop(number)
        self.ended.append((x, curve))
        self.learn(number, x, curve)

    def recommend(self) -> Array:
        longest = max(len(curve) for _, curve in self.ended)
        return max((pair for pair in self.ended if len(pair[1]) == longest), key=lambda pair: pair[1][-1])[0]


class Today(Halved):
    """Our optimizer as it was: the last value of a trial is its value."""

    def __init__(self, dim: int, seed: int, **options: Any) -> None:
        super().__init__(dim, seed)
        self.optimizer = make_optimizer("a2-rcgp-ucb", dim, seed=seed, n_initial=max(4, 2 * dim), **options)

    def suggest(self, number: int) -> Array:
        return self.optimizer.ask(np.array(list(self.running.values())) if self.running else None)

    def learn(self, number: int, x: Array, curve: list[float]) -> None:
        self.optimizer.tell(x, curve[-1])

    def recommend(self) -> Array:
        return self.ended[self.optimizer.recommend()][0]


class WholeOnly(Today):
    """Our optimizer without early stopping: fewer trials, all in full."""

    def stops(self, number: int, epoch: int, value: float) -> bool:
        return epoch >= EPOCHS

    def learn(self, number: int, x: Array, curve: list[float]) -> None:
        if len(curve) == EPOCHS:
            self.optimizer.tell(x, curve[-1])
        else:
            self.ended.pop()


class WithCurves(Today):
    """Our optimizer as it is: told at which share of the budget, and what was reported before."""

    def learn(self, number: int, x: Array, curve: list[float]) -> None:
        before = [((step + 1) / EPOCHS, value) for step, value in enumerate(curve[:-1])]
        self.optimizer.tell(x, curve[-1], resource=len(curve) / EPOCHS, curve=before)


class Robust(WithCurves):
    """And with a scheduler that asks it: the first trials run in full, and who may still end best is not stopped."""

    def __init__(self, dim: int, seed: int, mercy: Mercy | None = None) -> None:
        super().__init__(dim, seed)
        self.mercy, self.curves = mercy or Mercy(), dict[int, list[float]]()

    def stops(self, number: int, epoch: int, value: float) -> bool:
        curve = self.curves.setdefault(number, [])
        curve.append(value)
        stop = super().stops(number, epoch, value)
        if not stop or epoch >= EPOCHS:
            return stop
        points = [((step + 1) / EPOCHS, value) for step, value in enumerate(curve)]
        return not self.mercy.spares(number, lambda: self.optimizer.promise(self.running[number], points))


class Tpe(Halved):
    """`OptunaSearch` under ASHA: TPE that is told the last value of every trial, and hears the others."""

    def __init__(self, dim: int, seed: int, pruner: Callable[[Any], Any] | None = None) -> None:
        super().__init__(dim, seed)
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.optuna, self.own = optuna, pruner is not None
        self.study = optuna.create_study(
            direction="maximize",
            sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP),
            pruner=pruner(optuna.pruners) if pruner else optuna.pruners.NopPruner(),
        )
        self.trials: dict[int, Any] = {}

    def suggest(self, number: int) -> Array:
        self.trials[number] = trial = self.study.ask()
        return np.array([trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(self.dim)])

    def stops(self, number: int, epoch: int, value: float) -> bool:
        self.trials[number].report(value, epoch)
        if not self.own:
            return super().stops(number, epoch, value)
        return epoch >= EPOCHS or self.trials[number].should_prune()

    def learn(self, number: int, x: Array, curve: list[float]) -> None:
        states, pruned = self.optuna.trial.TrialState, self.own and len(curve) < EPOCHS
        value = None if pruned else curve[-1]
        self.study.tell(self.trials.pop(number), value, state=states.PRUNED if pruned else states.COMPLETE)


PLAYERS: dict[str, Callable[[int, int], Any]] = {
    "curves": WithCurves,
    "robust": Robust,
    "today": Today,
    "whole": WholeOnly,
    "random": Halved,
    "optuna-search": Tpe,
    "optuna-sh": lambda dim, seed: Tpe(
        dim, seed, lambda p: p.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3)
    ),
    "optuna-hb": lambda dim, seed: Tpe(
        dim, seed, lambda p: p.HyperbandPruner(min_resource=1, max_resource=EPOCHS, reduction_factor=3)
    ),
}
PEERS = ("random", "optuna-search", "optuna-sh", "optuna-hb")
Cell = tuple[str, str, str, int, int]
"""Player, problem, lies, seed, epochs."""


def reports_of(problem_name: str, lies: str, seed: int) -> Callable[[int, Array], Array]:
    """What every trial reports, lies included."""
    problem, (on_the_way, at_the_end) = PROBLEMS[problem_name], LIES[lies]

    def reports(number: int, x: Array) -> Array:
        curve = problem.curve(x, np.random.default_rng([seed, 1, number])).copy()
        rng = np.random.default_rng([seed, 2, number])
        chance, value = rng.random(EPOCHS), rng.uniform(problem.low, problem.high, EPOCHS)
        lied = chance < np.append(np.full(EPOCHS - 1, on_the_way), at_the_end)
        return np.where(lied, value, curve)

    return reports


def run_cell(cell: Cell) -> dict[str, Any]:
    """One whole search: the regret of what is handed over, and what it took."""
    name, problem_name, lies, seed, epochs = cell
    problem, started = PROBLEMS[problem_name], time.perf_counter()
    player = PLAYERS[name](problem.dim, seed)
    trials = play(player, reports_of(problem_name, lies, seed), epochs, WORKERS)
    regret = (problem.best - problem.final(player.recommend())) / typical_regret(problem_name)
    seen = [x for x, curve in player.ended]
    best = (problem.best - max(map(problem.final, seen))) / typical_regret(problem_name)
    return {
        "key": "|".join(map(str, cell)),
        "regret": regret,
        "best": best,
        "trials": trials,
        "seconds": round(time.perf_counter() - started, 2),
    }


def table(rows: dict[str, dict[str, Any]], args: argparse.Namespace, lies: str) -> str:
    """Mean regret of the recommendation (+- its standard error) by player and problem, and over all problems."""
    head = f"| {lies} | mean | " + " | ".join(args.problems) + " | trials | s |"
    lines = [f"\n### Lies: {lies}", "", head, "|---" * (4 + len(args.problems)) + "|"]
    for player in args.players:
        cells = {
            p: [rows["|".join(map(str, (player, p, lies, seed, args.epochs)))] for seed in args.seeds]
            for p in args.problems
        }
        means = [np.mean([row["regret"] for row in cell]) for cell in cells.values()]
        texts = [
            f"{np.mean(r := [row['regret'] for row in cell]):.3f} ±{np.std(r) / math.sqrt(len(r)):.3f}"
            for cell in cells.values()
        ]
        everything = list(itertools.chain(*cells.values()))
        trials, seconds = (np.mean([row[key] for row in everything]) for key in ("trials", "seconds"))
        lines.append(f"| {player} | {np.mean(means):.3f} | " + " | ".join(texts) + f" | {trials:.0f} | {seconds:.1f} |")
    return "\n".join(lines)


def seeds(text: str) -> list[int]:
    low, _, high = text.partition(":")
    return list(range(int(low), int(high or int(low) + 1)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", nargs="+", default=list(PLAYERS), choices=PLAYERS)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--lies", nargs="+", default=list(LIES), choices=LIES)
    parser.add_argument("--seeds", type=seeds, default=seeds("100:104"))
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/curves.jsonl"))
    args = parser.parse_args()
    wanted = list(itertools.product(args.players, args.problems, args.lies, args.seeds, [args.epochs]))
    known = load(args.out)
    todo = [cell for cell in wanted if "|".join(map(str, cell)) not in known]
    compute(run_cell, todo, args.out, args.processes)
    rows = load(args.out)
    for lies in args.lies:
        print(table(rows, args, lies))


if __name__ == "__main__":
    main()
