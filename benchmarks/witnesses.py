"""Curves as witnesses: which lies about final values are found, with and without the curve, and the regret that follows.

    python benchmarks/witnesses.py --seeds 100:108

No trial is stopped. Every trial reports nine times; a final value is a lie with probability 0.15, drawn from the range of the
objective. Without curves the model sees final values alone. Recall: lies that are suspects; precision: suspects that are lies. A
lie within a tenth of the range of the truth is none: it misleads nobody.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from curve_problems import PROBLEMS, typical_regret
from curve_table import EPOCHS
from curves import seeds

from rcgp import make_optimizer

REPORTED = np.arange(3, EPOCHS + 1, 3)


def search(name: str, seed: int, trials: int, curves: bool) -> dict[str, Any]:
    """One search: true and claimed lies, and the regret of what is handed over."""
    problem = PROBLEMS[name]
    optimizer = make_optimizer("a2-rcgp-ucb", problem.dim, seed=seed, n_initial=8)
    lies, points = set[int](), list[Any]()
    for number in range(trials):
        x = optimizer.ask()
        curve = problem.curve(x, np.random.default_rng([seed, 1, number]))[REPORTED - 1].copy()
        rng = np.random.default_rng([seed, 2, number])
        if rng.random() < 0.15:
            true, curve[-1] = curve[-1], rng.uniform(problem.low, problem.high)
            if abs(true - curve[-1]) > 0.1 * (problem.high - problem.low):
                lies.add(number)
        before = list(zip(REPORTED[:-1] / EPOCHS, curve[:-1], strict=True)) if curves else []
        optimizer.tell(x, curve[-1], curve=before)
        points.append(x)
    suspects = {suspect.index for suspect in optimizer.suspects()}
    regret = (problem.best - problem.final(points[optimizer.recommend()])) / typical_regret(name)
    return {"lies": len(lies), "suspects": len(suspects), "caught": len(lies & suspects), "regret": regret}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--seeds", type=seeds, default=seeds("100:104"))
    parser.add_argument("--trials", type=int, default=60)
    args = parser.parse_args()
    print("| problem | curves | recall | precision | regret |\n|---|---|---|---|---|")
    for curves in (False, True):
        runs = {name: [search(name, seed, args.trials, curves) for seed in args.seeds] for name in args.problems}
        for name, found in [*runs.items(), ("all", [run for some in runs.values() for run in some])]:
            total = {key: sum(run[key] for run in found) for key in found[0]}
            recall, precision = total["caught"] / total["lies"], total["caught"] / max(1, total["suspects"])
            print(
                f"| {name} | {curves} | {recall:.2f} | {precision:.2f} | {total['regret'] / len(found):.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
