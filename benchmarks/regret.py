"""Regret under lies: algorithms x problems x adversaries x seeds, as ratios to an oracle that knows which reports are lies.

    python benchmarks/regret.py --fast                      # about a minute
    python benchmarks/regret.py --seeds 100:116 --out results/regret.jsonl
    python benchmarks/regret.py --algorithms a2-rcgp-ucb a2-rcgp-ucb:width=4 --adversaries none moderate

Every cell is a whole run with common random numbers: for one problem, adversary and seed all algorithms share the initial
points and the noise. `oracle` is GP-UCB told which reports are lies. Rows go to `--out` as they finish; a second call with the
same file computes only what is missing. Cumulative regret of the true function, initial points excluded.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import os
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from problems import PROBLEMS, Problem

from adversaries import make_adversary
from rcgp import make_optimizer

FAST_PROBLEMS = ("forrester", "neg-forrester", "branin")
Attack = Callable[[Problem, int], tuple[str, dict[str, Any]]]


def _nearfar(low: Callable[[Problem], float], high: Callable[[Problem], float], budget: Any = None) -> Attack:
    def attack(problem: Problem, dim: int) -> tuple[str, dict[str, Any]]:
        root = math.sqrt(dim)
        values = {"low": low(problem), "high": high(problem), "near": 0.1 * root, "far": 0.4 * root}
        return "clairvoyant", values | {"budget": budget or {"alpha": "1/3"}}

    return attack


ATTACKS: dict[str, Attack] = {
    "none": lambda p, d: ("honest", {}),
    "moderate": _nearfar(lambda p: p.low - 0.2 * p.reach, lambda p: p.high + 0.4 * p.reach),
    "in-range": lambda p, d: (
        "clairvoyant",
        {
            "low": p.low + 0.2 * p.reach,
            "high": 0.0,
            "near": 0.15 * math.sqrt(d),
            "far": 10.0,
            "budget": {"alpha": "1/3"},
        },
    ),
    "1e3": _nearfar(lambda p: -1e3 * p.reach, lambda p: 1e3 * p.reach),
    "1e6": _nearfar(lambda p: -1e6 * p.reach, lambda p: 1e6 * p.reach),
    "inf": _nearfar(lambda p: -math.inf, lambda p: math.inf),
    "many": _nearfar(lambda p: p.low - 0.2 * p.reach, lambda p: p.high + 0.4 * p.reach, {"alpha": "1/2"}),
    "crash": lambda p, d: ("crash", {"value": p.low - 2.0 * p.reach, "budget": {"alpha": "1/3"}}),
    "spike": lambda p, d: ("spike", {"rate": 0.1, "scale": 10.0 * p.reach, "budget": {"alpha": "1/2"}}),
    "late": lambda p, d: ("late", {"value": p.low - 0.2 * p.reach, "budget": {"alpha": "1/3"}}),
    "flip": lambda p, d: ("flip", {"budget": {"alpha": "1/3"}}),
}
FAST_ATTACKS = ("none", "moderate", "1e6")
ORACLE, REFERENCE = "oracle", "gp-ucb"
PEERS = ("optuna-tpe", "optuna-gp", "botorch-rrp")


class OptunaPeer:
    """Optuna's sampler behind ask and tell; it is given the common initial points like everybody else."""

    def __init__(self, kind: str, dim: int, seed: int, initial: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = (
            optuna.samplers.TPESampler(seed=seed, n_startup_trials=initial)
            if kind == "optuna-tpe"
            else optuna.samplers.GPSampler(seed=seed, n_startup_trials=initial)
        )
        self._optuna, self._dim = optuna, dim
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._sobol = make_optimizer("random", dim, seed=seed, n_initial=initial)
        self._initial, self._trials = initial, list[Any]()

    def ask(self) -> np.ndarray:
        if len(self._trials) < self._initial:
            point = self._sobol.ask()
            self._sobol.tell(point, 0.0)
            self._study.enqueue_trial({f"x{i}": float(v) for i, v in enumerate(point)})
        trial = self._study.ask()
        self._trials.append(trial)
        return np.array([trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(self._dim)])

    def tell(self, x: np.ndarray, y: float) -> None:
        state = self._optuna.trial.TrialState
        good = math.isfinite(y)
        self._study.tell(self._trials[-1], y if good else None, state=state.COMPLETE if good else state.FAIL)

    def suspected(self) -> set[int]:
        return set()


class RelevancePursuit:
    """BoTorch's robust relevance pursuit with UCB, as its tutorial runs it; seconds to minutes a suggestion."""

    def __init__(self, dim: int, seed: int, initial: int) -> None:
        self._dim, self._seed, self._initial = dim, seed, initial
        self._sobol = make_optimizer("random", dim, seed=seed, n_initial=initial)
        self._X: list[np.ndarray] = []
        self._y: list[float] = []

    def ask(self) -> np.ndarray:
        if len(self._X) < self._initial:
            return self._sobol.ask()
        import torch
        from botorch.acquisition import UpperConfidenceBound
        from botorch.fit import fit_gpytorch_mll
        from botorch.models.robust_relevance_pursuit_model import RobustRelevancePursuitSingleTaskGP
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        torch.manual_seed(self._seed * 1000 + len(self._X))
        X, y = torch.tensor(np.array(self._X)), torch.tensor(np.array(self._y))
        kept = torch.isfinite(y)
        X, y = X[kept], y[kept][:, None]
        model = RobustRelevancePursuitSingleTaskGP(X, (y - y.mean()) / y.std())
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        beta = 0.8 * math.log(2 * (len(y) + 2))
        bounds = torch.tensor([[0.0] * self._dim, [1.0] * self._dim], dtype=torch.float64)
        point, _ = optimize_acqf(UpperConfidenceBound(model, beta), bounds, q=1, num_restarts=5, raw_samples=256)
        found: np.ndarray = point[0].numpy()
        return found

    def tell(self, x: np.ndarray, y: float) -> None:
        self._sobol.tell(x, 0.0)
        self._X.append(x)
        self._y.append(y)

    def suspected(self) -> set[int]:
        return set()


class Ours:
    """One of our optimizers; the oracle is GP-UCB that is told NaN, a row without influence, in place of every lie."""

    def __init__(self, label: str, dim: int, seed: int, problem: Problem) -> None:
        name, _, text = label.partition(":")
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
        self.ask, self.tell = self._optimizer.ask, self._optimizer.tell

    def suspected(self) -> set[int]:
        return {s.index for s in self._optimizer.suspects() if s.weight < 0.5}


def make_player(cell: Cell, dim: int, problem: Problem) -> Any:
    """Whoever goes by the cell's algorithm: ours, or one of the peers."""
    if cell.algorithm == "botorch-rrp":
        return RelevancePursuit(dim, cell.seed, problem.initial)
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


def run_cell(cell: Cell) -> dict[str, Any]:
    """One whole run: its cumulative and final simple regret, who lied, who was suspected, and the seconds it took."""
    problem = PROBLEMS[cell.problem]
    objective = problem.make()
    assert objective.optimum is not None
    name, options = ATTACKS[cell.attack](problem, objective.dim)
    adversary = make_adversary(name, trials=problem.trials, optimum=objective.optimum.x, **options)
    player = make_player(cell, objective.dim, problem)
    regrets, lies, started = [], set(), time.perf_counter()
    stream = zlib.crc32(f"{cell.problem}|{cell.attack}".encode())
    for number in range(problem.initial + problem.trials):
        x = player.ask()
        y = objective.evaluate(x, np.random.default_rng([cell.seed, number]))
        if number >= problem.initial:
            report = adversary.report(
                number - problem.initial, x, y, np.random.default_rng([cell.seed, stream, number])
            )
            regrets.append(objective.optimum.value - objective.noiseless(x))
            if report.corrupted:
                lies.add(number)
            y = math.nan if report.corrupted and cell.algorithm.partition(":")[0] == ORACLE else report.y
        player.tell(x, y)
    suspected = player.suspected()
    return {
        "key": cell.key,
        "algorithm": cell.algorithm,
        "problem": cell.problem,
        "attack": cell.attack,
        "seed": cell.seed,
        "cumulative": float(np.sum(regrets)),
        "simple": float(np.min(regrets)),
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


def load(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    return {row["key"]: row for row in map(json.loads, path.read_text().splitlines())}


def compute(todo: list[Cell], path: Path, processes: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as sink, multiprocessing.get_context("spawn").Pool(processes) as pool:
        for done, row in enumerate(pool.imap_unordered(run_cell, todo), 1):
            sink.write(json.dumps(row) + "\n")
            sink.flush()
            if done % 20 == 0 or done == len(todo):
                print(f"{done} of {len(todo)} runs", flush=True)


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


def table(rows: dict[str, dict[str, Any]], args: argparse.Namespace) -> str:
    """Ratios to the reference: geometric mean over the problems (times or divided by its standard error), then each problem."""
    lines = []
    for attack in args.adversaries:
        against = "GP-UCB" if attack == "none" else "the oracle"
        lines += [f"\n### {attack}: cumulative regret / that of {against}", ""]
        lines += [
            "| algorithm | geometric mean | " + " | ".join(args.problems) + " |",
            "|---" * (2 + len(args.problems)) + "|",
        ]
        for algorithm in dict.fromkeys([REFERENCE, *args.algorithms]):
            cellwise = [ratio(rows, algorithm, problem, attack, args.seeds) for problem in args.problems]
            logs = [math.log(max(value, 1e-3)) for value, _ in cellwise]
            error = math.sqrt(sum(e**2 for _, e in cellwise)) / len(cellwise)
            each = " | ".join(f"{value:.2f}" for value, _ in cellwise)
            lines.append(f"| {algorithm} | {math.exp(np.mean(logs)):.2f} ±{100 * error:.0f} % | {each} |")
    return "\n".join(lines)


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
    # nobody knows the lander's optimum: it is there for adversaries that need none
    solved = [name for name in PROBLEMS if name != "lander"]
    parser.add_argument("--problems", nargs="+", default=solved, choices=list(PROBLEMS))
    parser.add_argument("--adversaries", nargs="+", default=list(ATTACKS), choices=list(ATTACKS))
    parser.add_argument("--seeds", default="0:8", help="first:last, last excluded")
    parser.add_argument("--out", type=Path, default=Path("runs/regret.jsonl"))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--fast", action="store_true", help="a small grid, about a minute")
    args = parser.parse_args()
    args.seeds = list(range(*map(int, args.seeds.split(":"))))
    if args.fast:
        args.problems, args.adversaries, args.seeds = list(FAST_PROBLEMS), list(FAST_ATTACKS), list(range(4))
    return args


def main() -> None:
    args = arguments()
    rows = load(args.out)
    todo = [cell for cell in cells(args) if cell.key not in rows]
    print(f"{len(todo)} runs to do, {len(rows)} known in {args.out}", flush=True)
    if todo:
        compute(todo, args.out, args.processes)
        rows = load(args.out)
    print(table(rows, args))
    print(forensics(rows, args))


if __name__ == "__main__":
    main()
