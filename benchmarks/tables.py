"""Real spaces: recorded tables, regions that crash and branches, RCGPSearch beside Optuna's samplers and random search.

    python benchmarks/tables.py --fast                                   # a few minutes
    python benchmarks/tables.py --seeds 100:108 --out results/tables.jsonl

Every cell is a whole search of `--trials` trials through the searcher itself; failures strike from the first trial on. The figure
is the true regret of the configuration that is handed over, in units of a random one's, with its standard error over problems and
seeds. Rows go to `--out` as they finish; a second call with the same file computes only what is missing.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cells import complete
from ray.tune.search.sample import Categorical, Float, Integer, LogUniform
from real_spaces import BRANCHED, Config, RealSpace, names, real_space, sample

PLAYERS = ("rcgp", "optuna-tpe", "optuna-gp", "random")
FAST = ("protein", "nas-cifar100", "ball-10", "optimizers")
GROUPS = {
    "tables": ("naval", "parkinsons", "protein", "slice", "nas-cifar10", "nas-cifar100", "nas-imagenet"),
    "hidden constraints": ("ball-3", "ball-10", "ball-30", "ball-60"),
    "branches": tuple(BRANCHED),
}


# Who fails, and how: from the report, its problem and a stream of random numbers to what arrives (None: a crash)


NODES = 5
"""Trials run on so many machines in turn. Tune says on which; Optuna's samplers do not ask."""


def _bad_node(y: float, number: int, problem: RealSpace, rng: np.random.Generator) -> float | None:
    """One of the nodes reports another configuration's value whenever it runs a trial."""
    return y if (number + 1) % NODES else problem.noisy(sample(problem.space, rng), rng)


def _sometimes(share: float, lie: Any) -> Any:
    """With probability `share` the lie, else the truth."""
    return lambda y, number, problem, rng: lie(y, problem) if rng.random() < share else y


FAILURES = {
    "none": lambda y, number, problem, rng: y,
    "crash": _sometimes(0.1, lambda y, problem: None),
    "zero": _sometimes(0.1, lambda y, problem: 0.0),
    "bad-node": _bad_node,
    "spike": _sometimes(0.05, lambda y, problem: 10.0 * y),
    "optimist": _sometimes(0.1, lambda y, problem: y + 0.3 * (problem.optimum - problem.typical)),
}


# Players: `ask` gives a configuration, `tell` takes the report of it, `best` is what would be handed over


class Ours:
    """RCGPSearch as Tune would call it; `options` are its own."""

    def __init__(self, space: Config, seed: int, trials: int, **options: Any) -> None:
        from orchestrator import RCGPSearch

        self._search, self._number = RCGPSearch(seed=seed, **options), 0
        self._search.set_search_properties("score", "max", space, num_samples=trials)

    def ask(self) -> Config:
        config: Config = self._search.suggest(str(self._number))
        return config

    def tell(self, y: float | None) -> None:
        node = {"hostname": f"node {self._number % NODES}"}
        result = None if y is None else {"score": y, "training_iteration": 1, **node}
        self._search.on_trial_complete(trial_id=str(self._number), result=result, error=y is None)
        self._number += 1

    def best(self) -> Config:
        return self._search.best().config

    def suspected(self) -> set[int]:
        return {s.number for s in self._search.suspects() if s.status == "completed" and s.number is not None}


class Optuna:
    """One of Optuna's samplers with its own defaults; numbers in a choice are given by their rank."""

    def __init__(self, space: Config, seed: int, kind: str) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        samplers = {
            "optuna-tpe": optuna.samplers.TPESampler,
            "optuna-gp": optuna.samplers.GPSampler,
            "random": optuna.samplers.RandomSampler,
        }
        self._state, self._space = optuna.trial.TrialState, space
        self._study = optuna.create_study(direction="maximize", sampler=samplers[kind](seed=seed))
        self._configs: dict[int, Config] = {}

    def ask(self) -> Config:
        self._trial = self._study.ask()
        self._configs[self._trial.number] = self._drawn("", self._space)
        return self._configs[self._trial.number]

    def _drawn(self, name: str, part: Any) -> Any:
        if isinstance(part, dict):
            return {key: self._drawn(f"{name}/{key}", value) for key, value in part.items()}
        if isinstance(part, Categorical):
            return self._chosen(name, part.categories)
        if isinstance(part, Integer | Float):
            log = isinstance(part.get_sampler(), LogUniform)
            if isinstance(part, Integer):
                return self._trial.suggest_int(name, part.lower, part.upper - 1, log=log)
            return self._trial.suggest_float(name, part.lower, part.upper, log=log)
        return part

    def _chosen(self, name: str, categories: list[Any]) -> Any:
        if all(isinstance(value, int | float) for value in categories):
            return categories[self._trial.suggest_int(name, 0, len(categories) - 1)]
        index = self._trial.suggest_categorical(name, list(range(len(categories))))
        return self._drawn(f"{name}/{index}", categories[index])

    def tell(self, y: float | None) -> None:
        good = y is not None and math.isfinite(y)
        self._study.tell(self._trial, y if good else None, state=self._state.COMPLETE if good else self._state.FAIL)

    def best(self) -> Config:
        return self._configs[self._study.best_trial.number]

    def suspected(self) -> set[int]:
        return set()


def make_player(name: str, space: Config, seed: int, trials: int) -> Any:
    """`rcgp`, with options as in rcgp:on_error=ignore,confirm=5, or one of Optuna's samplers."""
    kind, _, text = name.partition(":")
    if kind != "rcgp":
        return Optuna(space, seed, kind)
    import yaml

    options = {key: yaml.safe_load(value) for key, value in (pair.split("=") for pair in text.split(",") if pair)}
    return Ours(space, seed, trials, **options)


# Cells


@dataclass(frozen=True)
class Cell:
    """One search."""

    player: str
    problem: str
    failure: str
    seed: int
    trials: int

    @property
    def key(self) -> str:
        return f"{self.player}|{self.problem}|{self.failure}|{self.seed}|{self.trials}"


def run_cell(cell: Cell) -> dict[str, Any]:
    """One whole search: the true regret of what it hands over, who lied, who was suspected, and the seconds of the searcher."""
    problem = real_space(cell.problem, cell.seed)
    player, failure = make_player(cell.player, problem.space, cell.seed, cell.trials), FAILURES[cell.failure]
    stream, seconds = zlib.crc32(f"{cell.problem}|{cell.failure}".encode()), 0.0
    lies, crashes, worked = set[int](), 0, 0
    for number in range(cell.trials):
        started = time.perf_counter()
        config = player.ask()
        seconds += time.perf_counter() - started
        y = problem.noisy(config, np.random.default_rng([cell.seed, number]))
        report = None if y is None else failure(y, number, problem, np.random.default_rng([cell.seed, stream, number]))
        lies |= {number} if report not in (None, y) else set()
        crashes, worked = crashes + (report is None), worked + (y is not None)
        player.tell(report)
    try:
        regret = problem.regret(player.best())
    except ValueError:  # nothing worked at all: any configuration is as good
        regret = 1.0
    suspected = player.suspected()
    return {
        "key": cell.key,
        "regret": regret,
        "lies": len(lies),
        "suspected": len(suspected),
        "caught": len(lies & suspected),
        "crashes": crashes,
        "worked": worked,
        "seconds": round(seconds, 3),
    }


def cells(args: argparse.Namespace) -> Iterator[Cell]:
    for problem, seed, failure, player in itertools.product(args.problems, args.seeds, args.failures, args.players):
        if failure == "none" or problem in GROUPS["tables"] or problem.startswith("mlp"):
            yield Cell(player, problem, failure, seed, args.trials)


def figure(rows: dict[str, dict[str, Any]], chosen: list[Cell]) -> str:
    """Mean regret and its standard error: over the seeds of each problem, then over the problems."""
    by_problem: dict[str, list[float]] = {}
    for cell in chosen:
        by_problem.setdefault(cell.problem, []).append(rows[cell.key]["regret"])
    means = [float(np.mean(values)) for values in by_problem.values()]
    variances = [
        np.var(values, ddof=1) / len(values) if len(values) > 1 else math.nan for values in by_problem.values()
    ]
    return f"{np.mean(means):.3f} ±{math.sqrt(sum(variances)) / len(means):.3f}"


def table(rows: dict[str, dict[str, Any]], args: argparse.Namespace) -> str:
    """For each group of problems one line a player: under every failure, then problem by problem without any."""
    lines, every = list[str](), list(cells(args))
    for title, members in [*GROUPS.items(), ("mlp", tuple(n for n in names() if n.startswith("mlp")))]:
        mine = [cell for cell in every if cell.problem in members]
        if not mine:
            continue
        columns = list(dict.fromkeys((cell.failure, "") for cell in mine))
        columns += [("none", problem) for problem in dict.fromkeys(cell.problem for cell in mine)]
        heads = [problem or failure for failure, problem in columns]
        lines += [f"\n### {title}", "", "| player | " + " | ".join(heads) + " | s a search | suspects |"]
        lines += ["|---" * (len(heads) + 3) + "|"]
        for player in args.players:
            own = [cell for cell in mine if cell.player == player]
            cells_of = [[c for c in own if c.failure == f and p in ("", c.problem)] for f, p in columns]
            seconds = np.mean([rows[cell.key]["seconds"] for cell in own])
            clean = sum(rows[cell.key]["suspected"] for cell in own if cell.failure == "none")
            figures = " | ".join(figure(rows, chosen) for chosen in cells_of)
            lines.append(f"| {player} | {figures} | {seconds:.1f} | {clean} |")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--players", nargs="+", default=list(PLAYERS), help=f"{', '.join(PLAYERS)}, or rcgp:option=value,..."
    )
    every = [name for group in GROUPS.values() for name in group]
    parser.add_argument("--problems", nargs="+", default=every, choices=list(names()))
    parser.add_argument("--failures", nargs="+", default=list(FAILURES), choices=list(FAILURES))
    parser.add_argument("--seeds", default="0:8", help="first:last, last excluded")
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--out", type=Path, default=Path("runs/tables.jsonl"))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--fast", action="store_true", help="a small grid, a few minutes")
    args = parser.parse_args()
    args.seeds = list(range(*map(int, args.seeds.split(":"))))
    for player in args.players:
        if player.partition(":")[0] not in PLAYERS:
            parser.error(f"there is no player {player!r}: choose from {', '.join(PLAYERS)}, or rcgp:option=value,...")
    if args.fast:
        args.problems, args.failures, args.seeds = list(FAST), ["none", "spike"], [0, 1]
    return args


def main() -> None:
    args = arguments()
    rows = complete(run_cell, cells(args), args.out, args.processes, chunk=4, name="searches")
    print(table(rows, args))


if __name__ == "__main__":
    main()
