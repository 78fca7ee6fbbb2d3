"""Learning curves of the digits ResNet on a grid: real trainings, epoch by epoch, for searches that cost seconds.

    python benchmarks/curve_table.py --only digits          # 130 trainings of 27 epochs, some minutes on one core
    python benchmarks/curve_table.py --only noisy-digits    # the same with 30 % of the labels wrong: good ones learn slowly

Both go to results/digits-curves.json: accuracy by learning rate, weight decay, repeat and epoch. A curve between grid points is
interpolated linearly in the unit cube, all its epochs from one repeat.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from objectives import make_objective

TABLE = Path(__file__).parents[1] / "results" / "digits-curves.json"
EPOCHS = 27
SETTINGS: dict[str, dict[str, Any]] = {
    "digits": {"train_size": 500, "epochs": EPOCHS},
    "noisy-digits": {
        "train_size": 500,
        "epochs": EPOCHS,
        "label_noise": 0.3,
        "optimizer": "adamw",
        "schedule": "constant",
    },
}


def train(job: tuple[str, float, float, int]) -> list[float]:
    """Accuracy after every epoch at one point of the cube, in one repeat."""
    name, rate, decay, repeat = job
    curve: list[float] = []
    resnet = make_objective("resnet", **SETTINGS[name])
    resnet.evaluate(np.array([rate, decay]), np.random.default_rng([repeat]), lambda _, value: curve.append(value))
    return curve + curve[-1:] * (EPOCHS - len(curve))  # a diverged run stays at chance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=SETTINGS, nargs="+", default=list(SETTINGS))
    parser.add_argument("--rates", type=int, default=13, help="grid points along the learning rate")
    parser.add_argument("--decays", type=int, default=5, help="grid points along the weight decay")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=TABLE)
    args = parser.parse_args()
    rates, decays = np.linspace(0, 1, args.rates), np.linspace(0, 1, args.decays)
    for name in args.only:
        jobs = list(itertools.product([name], rates.tolist(), decays.tolist(), range(args.repeats)))
        with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
            values = np.array(pool.map(train, jobs, chunksize=1))
        values = values.reshape(args.rates, args.decays, args.repeats, EPOCHS)
        # read at the end: another setting may have been written meanwhile
        table = json.loads(args.out.read_text()) if args.out.exists() else {}
        table[name] = {
            "learning_rate": rates.tolist(),
            "weight_decay": decays.tolist(),
            "accuracy": np.round(values, 3).tolist(),
        }
        args.out.write_text(json.dumps(table) + "\n")
        final = values.mean(axis=2)[..., -1]
        print(f"{name}: {len(jobs)} trainings, best mean final accuracy {final.max():.3f}; {args.out}")


if __name__ == "__main__":
    main()
