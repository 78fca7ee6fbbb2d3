"""Regret under lies: algorithms x problems x adversaries x seeds, as ratios to an oracle that knows which reports are lies.

    python benchmarks/regret.py --fast                      # about a minute
    python benchmarks/regret.py --seeds 100:116 --out results/regret.jsonl
    python benchmarks/regret.py --algorithms a2-rcgp-ucb a2-rcgp-ucb:width=4 --adversaries none moderate
    python benchmarks/regret.py --algorithms a2-rcgp-ucb a2-rcgp-ucb+reporters --adversaries none bad-reporter
    python benchmarks/regret.py --unseen --adversaries none 1e6    # sixteen functions that no rule was tuned on
    python benchmarks/regret.py --from-start --adversaries share-20-large    # lies among the initial points too

Every cell is a whole run with common random numbers: for one problem, adversary and seed all algorithms share the initial
points and the noise. `oracle` is GP-UCB told which reports are lies. Rows go to `--out` as they finish; a second call with the
same file computes only what is missing. Cumulative regret of the true function, initial points excluded; in brackets the true
regret of the point that would be handed over at the end (`recommend`), in units of a random point's. `NAME+reporters` is told
which of five machines reported each value; `NAME+confirm` spends its last five trials on repeating what decides its answer;
`NAME+parallel` has four trials under way at any time, so that it is told of each when three more were asked for.
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
from attacks import ATTACKS, make_attack, reporter_of
from cells import complete
from formulas import FORMULAS
from peers import BOTORCH, PEERS, OptunaPeer
from problems import PROBLEMS, UNSEEN, Problem

from rcgp import make_optimizer

FAST_PROBLEMS = ("forrester", "neg-forrester", "branin")
FAST_ATTACKS = ("none", "moderate", "1e6")
ORACLE, REFERENCE = "oracle", "gp-ucb"
CONFIRMING = 5
"""So many of the last trials repeat earlier ones where an algorithm confirms its answer."""
FROM_START = " from the start"
"""Behind the name of an adversary that lies about the initial points too."""
UNDER_WAY = 4
"""So many trials are under way at a time where an algorithm runs them in parallel."""


class Ours:
    """One of our optimizers; the oracle is GP-UCB that is told NaN, a row without influence, in place of every lie."""

    def __init__(self, label: str, dim: int, seed: int, problem: Problem) -> None:
        name, _, text = label.partition(":")
        name, *extras = name.split("+")
        options = dict(pair.split("=") for pair in text.split(",")) if text else {}
        parsed = {key: yaml_scalar(value) for key, value in options.items()}
        self._optimizer = make_optimizer(
            REFERENCE if name == ORACLE else name,
            dim,
            seed=seed,
            n_initial=problem.initial,
            horizon=problem.trials,
            **parsed,
        )
        self.recommend, self._points = self._optimizer.recommend, list[np.ndarray]()
        self.under_way, self._pending = UNDER_WAY if "parallel" in extras else 1, list[np.ndarray]()
        self._knows_reporters = "reporters" in extras
        self._confirms_from = problem.initial + problem.trials - CONFIRMING if "confirm" in extras else math.inf

    def ask(self) -> np.ndarray:
        point = self._next()
        self._pending.append(point)
        return point

    def _next(self) -> np.ndarray:
        if len(self._points) < self._confirms_from:
            return self._optimizer.ask(np.array(self._pending) if self._pending else None)
        self._optimizer.update()
        row = self._optimizer.to_confirm()
        return self._optimizer.ask() if row is None else self._points[row]

    def tell(self, x: np.ndarray, y: float, reporter: str) -> None:
        self._points.append(self._pending.pop(0))
        self._optimizer.tell(x, y, reporter=reporter if self._knows_reporters else None)

    def suspected(self) -> set[int]:
        return {suspect.index for suspect in self._optimizer.suspects()}


def make_player(cell: Cell, dim: int, problem: Problem) -> Any:
    """Whoever goes by the cell's algorithm: ours, or one of the peers."""
    if cell.algorithm in BOTORCH:
        return BOTORCH[cell.algorithm](dim, cell.seed, problem.initial)
    if cell.algorithm in PEERS:
        return OptunaPeer(cell.algorithm, dim, cell.seed, problem.initial)
    return Ours(cell.algorithm, dim, cell.seed, problem)


def yaml_scalar(text: str) -> Any:
    """`text` as a number or boolean where it reads as one."""
    import yaml

    value = yaml.safe_load(text)
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


@dataclass(frozen=True)
class Cell:
    algorithm: str
    problem: str
    attack: str
    seed: int

    @property
    def key(self) -> str:
        return f"{self.algorithm}|{self.problem}|{self.attack}|{self.seed}"


def is_oracle(algorithm: str) -> bool:
    return algorithm.partition(":")[0].partition("+")[0] == ORACLE


def run_cell(cell: Cell) -> dict[str, Any]:
    """One whole run: its cumulative, best and recommended regret, who lied, who was suspected, and the seconds it took."""
    problem = PROBLEMS[cell.problem]
    objective = problem.make()
    assert objective.optimum is not None
    attack, from_start, _ = cell.attack.partition(FROM_START)
    adversary, spared = make_attack(attack, problem, objective), 0 if from_start else problem.initial
    player = make_player(cell, objective.dim, problem)
    regrets, lies, started = list[float](), set[int](), time.perf_counter()
    waiting, under_way = list[tuple[np.ndarray, float, str]](), getattr(player, "under_way", 1)
    stream = zlib.crc32(f"{cell.problem}|{cell.attack}".encode())
    for number in range(problem.initial + problem.trials):
        x = player.ask()
        y = objective.evaluate(x, np.random.default_rng([cell.seed, number]))
        regrets.append(objective.optimum.value - objective.noiseless(x))
        if number >= spared:
            report = adversary.report(number - spared, x, y, np.random.default_rng([cell.seed, stream, number]))
            if report.corrupted:
                lies.add(number)
            y = math.nan if report.corrupted and is_oracle(cell.algorithm) else report.y
        waiting.append((x, y, reporter_of(number - problem.initial)))
        if len(waiting) == under_way:
            player.tell(*waiting.pop(0))
    for told in waiting:
        player.tell(*told)
    suspected = player.suspected()
    return {
        "key": cell.key,
        "algorithm": cell.algorithm,
        "problem": cell.problem,
        "attack": cell.attack,
        "seed": cell.seed,
        "cumulative": float(np.sum(regrets[problem.initial :])),
        "simple": float(np.min(regrets[problem.initial :])),
        "recommended": regrets[player.recommend()],
        "lies": len(lies),
        "suspected": len(suspected),
        "caught": len(lies & suspected),
        "seconds": round(time.perf_counter() - started, 3),
    }


def cells(args: argparse.Namespace) -> Iterator[Cell]:
    algorithms = list(dict.fromkeys([ORACLE, REFERENCE, *args.algorithms]))
    for attack, problem, seed, algorithm in itertools.product(args.adversaries, args.problems, args.seeds, algorithms):
        if attack == "none" and algorithm == ORACLE:
            continue  # without lies the oracle is GP-UCB
        yield Cell(algorithm, problem, attack, seed)


def ratio(
    rows: dict[str, dict[str, Any]], algorithm: str, problem: str, attack: str, seeds: list[int]
) -> tuple[float, float]:
    """Mean cumulative regret over that of the reference, and the paired standard error of its logarithm."""
    reference = REFERENCE if attack == "none" else ORACLE

    def regrets(name: str) -> np.ndarray:
        return np.array([max(rows[Cell(name, problem, attack, seed).key]["cumulative"], 0.0) for seed in seeds])

    ours, theirs = regrets(algorithm), regrets(reference)
    # one random trial's regret is added to both: some problems are solved at once, and nothing over nothing says nothing
    unit = PROBLEMS[problem].typical_regret
    ours, theirs = ours + unit, theirs + unit
    value = ours.mean() / theirs.mean()
    # delta method on log mean(ours) - log mean(theirs), seed by seed
    influence = ours / ours.mean() - theirs / theirs.mean()
    return value, float(influence.std(ddof=1) / math.sqrt(len(seeds))) if len(seeds) > 1 else math.nan


def recommended(rows: dict[str, dict[str, Any]], algorithm: str, problem: str, attack: str, seeds: list[int]) -> float:
    """Mean true regret of the recommended point, in units of a random point's; NaN where older rows do not know it."""
    name = REFERENCE if attack == "none" and algorithm == ORACLE else algorithm
    found = [rows[Cell(name, problem, attack, seed).key].get("recommended", math.nan) for seed in seeds]
    return float(np.mean(found)) / PROBLEMS[problem].typical_regret


def table(rows: dict[str, dict[str, Any]], args: argparse.Namespace) -> str:
    """Ratios to the reference: geometric mean over the problems (times or divided by its standard error), then each problem."""
    lines = []
    for attack in args.adversaries:
        reference = REFERENCE if attack == "none" else ORACLE
        against = "GP-UCB" if attack == "none" else "the oracle"
        lines += [f"\n### {attack}: cumulative regret / that of {against} (regret of the recommended point)", ""]
        lines += [
            "| algorithm | geometric mean | recommended | " + " | ".join(args.problems) + " |",
            "|---" * (3 + len(args.problems)) + "|",
        ]
        for algorithm in dict.fromkeys([reference, REFERENCE, *args.algorithms]):
            lines.append(line(rows, algorithm, attack, args))
    return "\n".join(lines)


def line(rows: dict[str, dict[str, Any]], algorithm: str, attack: str, args: argparse.Namespace) -> str:
    """One algorithm under one adversary."""
    ratios = [ratio(rows, algorithm, problem, attack, args.seeds) for problem in args.problems]
    handed = [recommended(rows, algorithm, problem, attack, args.seeds) for problem in args.problems]
    mean = math.exp(np.mean([math.log(max(value, 1e-3)) for value, _ in ratios]))
    error = math.sqrt(sum(e**2 for _, e in ratios)) / len(ratios)
    cells = [f"{value:.2f}{brackets(regret)}" for (value, _), regret in zip(ratios, handed, strict=True)]
    known = [regret for regret in handed if not math.isnan(regret)]
    overall = f"{np.mean(known):.3f}" if known else ""
    return f"| {algorithm} | {mean:.2f} ±{100 * error:.0f} % | {overall} | " + " | ".join(cells) + " |"


def brackets(regret: float) -> str:
    """The second figure of a cell, where it is known."""
    return "" if math.isnan(regret) else f" ({regret:.3f})"


def forensics(rows: dict[str, dict[str, Any]], args: argparse.Namespace) -> str:
    """Precision and recall of the suspects (weight below 1/2) against the lies told, per adversary."""
    lines = [
        "\n### Suspects against lies",
        "",
        "| algorithm | adversary | lies | precision | recall |",
        "|---" * 5 + "|",
    ]
    for algorithm, attack in itertools.product(args.algorithms, args.adversaries):
        keys = [Cell(algorithm, problem, attack, seed).key for problem in args.problems for seed in args.seeds]
        chosen = [rows[key] for key in keys]
        lies, suspected, caught = (sum(r[k] for r in chosen) for k in ("lies", "suspected", "caught"))
        if lies and suspected:
            lines.append(f"| {algorithm} | {attack} | {lies} | {caught / suspected:.2f} | {caught / lies:.2f} |")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algorithms", nargs="+", default=["a2-rcgp-ucb"], help="names, or name:option=value,...")
    # nobody knows the lander's optimum: it is there for adversaries that need none; the other is Forrester again
    solved = [name for name in PROBLEMS if name not in ("lander", "forrester-100", *FORMULAS)]
    parser.add_argument("--problems", nargs="+", default=solved, choices=list(PROBLEMS))
    parser.add_argument("--adversaries", nargs="+", default=list(ATTACKS), choices=list(ATTACKS))
    parser.add_argument("--seeds", default="0:8", help="first:last, last excluded")
    parser.add_argument("--out", type=Path, default=Path("runs/regret.jsonl"))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--from-start", action="store_true", help="no initial point is spared")
    parser.add_argument("--unseen", action="store_true", help="the functions that no rule was tuned on")
    parser.add_argument("--fast", action="store_true", help="a small grid, about a minute")
    args = parser.parse_args()
    args.seeds = list(range(*map(int, args.seeds.split(":"))))
    if args.unseen:
        args.problems = UNSEEN
    if args.from_start:
        args.adversaries = [name + FROM_START if name != "none" else name for name in args.adversaries]
    if args.fast:
        args.problems, args.adversaries, args.seeds = list(FAST_PROBLEMS), list(FAST_ATTACKS), list(range(4))
    return args


def main() -> None:
    args = arguments()
    rows = complete(run_cell, cells(args), args.out, args.processes)
    print(table(rows, args))
    print(forensics(rows, args))


if __name__ == "__main__":
    main()
