"""What the constants of the rule are worth: regret with each of them halved and doubled, as ratios to the oracle's.

    python benchmarks/sensitivity.py --constants rival.SETTLED adaptive.width --seeds 0:2

Prints one row for each constant and factor: geometric mean over the problems, for every adversary. Whole numbers stay whole.
Rows go to `--out` as they finish, as in `regret.py`; a second call computes only what is missing.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from cells import load
from regret import ORACLE, REFERENCE, Cell, ratio, run_cell

from rcgp.adaptive import AdaptiveSurrogate

RULE = "a2-rcgp-ucb"
OPTIONS = ("width", "decay", "margin", "ceiling", "gap", "rounds")
CONSTANTS = (
    *(f"adaptive.{name}" for name in (*OPTIONS, "MANY_AT_ONCE", "LONGEST", "UNKNOWN_SHARE")),
    *(f"lies.challenge.{name}" for name in ("PRICE", "FEWEST_LIES", "LEAST_SPREAD", "NOWHERE", "INTERVALS")),
    *(f"lies.reconsider.{name}" for name in ("LIE_PRICE", "DOUBT_PRICE", "FEWEST")),
    *(f"lies.score.{name}" for name in ("TAIL", "ROUGH", "ROUNDS")),
    *(f"lies.agreement.{name}" for name in ("FAR_OUT_BELOW", "FAR_OUT_ABOVE", "CROWD")),
    "lies.rival.SETTLED",
)
"""What was set by hand: by module of `rcgp` and name, the options of the surrogate included."""
FACTORS = (0.5, 2.0)


def value_of(constant: str) -> float:
    """The present value."""
    module, name = constant.rsplit(".", 1)
    if name in OPTIONS:
        return float(next(field.default for field in fields(AdaptiveSurrogate) if field.name == name))  # type: ignore[arg-type]
    value: float = getattr(importlib.import_module(f"rcgp.{module}"), name)
    return value


def moved(constant: str, factor: float) -> float:
    """The value times the factor; a whole number stays one, of at least 1."""
    value = value_of(constant)
    whole = isinstance(value, int) or constant == "adaptive.rounds"
    return max(1, round(value * factor)) if whole else value * factor


@contextmanager
def set_to(constant: str, value: float) -> Iterator[None]:
    """Every module of `rcgp` that knows the constant has this value of it meanwhile."""
    module, name = constant.rsplit(".", 1)
    owner = importlib.import_module(f"rcgp.{module}")
    users = [owner] + [importlib.import_module("rcgp.adaptive")] * (constant == "lies.reconsider.FEWEST")
    before = getattr(owner, name)
    for user in users:
        setattr(user, name, value)
    try:
        yield
    finally:
        for user in users:
            setattr(user, name, before)


def run(cell: Cell, constant: str, value: float) -> dict[str, Any]:
    """One search with the constant moved, under a name that says so."""
    name = constant.rsplit(".", 1)[1]
    if name in OPTIONS:
        row = run_cell(replace(cell, algorithm=f"{RULE}:{name}={value}"))
    else:
        with set_to(constant, value):
            row = run_cell(replace(cell, algorithm=RULE))
    return row | {"key": cell.key, "algorithm": cell.algorithm}


def computed(args: argparse.Namespace, label: str, constant: str | None, value: float) -> None:
    """The rows of one variant, of the oracle too, written as they finish."""
    rows = load(args.out)
    for attack, problem, seed in itertools.product(args.adversaries, args.problems, args.seeds):
        reference = REFERENCE if attack == "none" else ORACLE
        for name in (reference, label):
            cell = Cell(name, problem, attack, seed)
            if cell.key in rows:
                continue
            row = run(cell, constant, value) if constant and name == label else run_cell(cell)
            with args.out.open("a") as sink:
                sink.write(json.dumps(row) + "\n")


def line(args: argparse.Namespace, label: str) -> str:
    """The geometric means of one variant."""
    rows, means = load(args.out), list[str]()
    for attack in args.adversaries:
        found = [ratio(rows, label, problem, attack, args.seeds)[0] for problem in args.problems]
        means.append(f"{math.exp(np.mean(np.log(found))):.2f}")
    return f"| {label} | " + " | ".join(means) + " |"


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--constants", nargs="+", default=list(CONSTANTS), choices=CONSTANTS)
    parser.add_argument("--problems", nargs="+", default=["forrester", "branin", "digits", "levy4"])
    parser.add_argument("--adversaries", nargs="+", default=["none", "1e3", "moderate", "many"])
    parser.add_argument("--seeds", default="0:4", help="first:last, last excluded")
    parser.add_argument("--out", type=Path, default=Path("runs/sensitivity.jsonl"))
    args = parser.parse_args()
    args.seeds = list(range(*map(int, args.seeds.split(":"))))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    print("| | " + " | ".join(args.adversaries) + " |\n" + "|---" * (1 + len(args.adversaries)) + "|", flush=True)
    computed(args, RULE, None, 0.0)
    print(line(args, RULE), flush=True)
    for constant, factor in itertools.product(args.constants, FACTORS):
        value = moved(constant, factor)
        label = f"{constant} = {value:g} (from {value_of(constant):g})"
        computed(args, label, constant, value)
        print(line(args, label), flush=True)


if __name__ == "__main__":
    main()
