"""The digits ResNet as a look-up surface: real trainings on a grid, so that a whole search costs seconds.

    python benchmarks/surface.py          # some 250 trainings, a few minutes; writes results/digits-surface.json

Every grid point is trained `--repeats` times. The surface interpolates the mean accuracies linearly in the unit cube; a noisy
value interpolates one repeat of each grid point, drawn at random.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from objectives import make_objective

SURFACE = Path(__file__).parents[1] / "results" / "digits-surface.json"


def train(job: tuple[float, float, int]) -> float:
    """Accuracy at one point of the cube, in one repeat."""
    rate, decay, repeat = job
    return make_objective("resnet").evaluate(np.array([rate, decay]), np.random.default_rng([repeat]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", type=int, default=17, help="grid points along the learning rate")
    parser.add_argument("--decays", type=int, default=7, help="grid points along the weight decay")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, default=SURFACE)
    args = parser.parse_args()
    rates, decays = np.linspace(0, 1, args.rates), np.linspace(0, 1, args.decays)
    jobs = list(itertools.product(rates, decays, range(args.repeats)))
    with multiprocessing.get_context("spawn").Pool() as pool:
        values = np.array(pool.map(train, jobs, chunksize=1)).reshape(args.rates, args.decays, args.repeats)
    surface = {
        "learning_rate": rates.tolist(),
        "weight_decay": decays.tolist(),
        "accuracy": np.round(values, 4).tolist(),
    }
    args.out.write_text(json.dumps(surface) + "\n")
    print(f"{len(jobs)} trainings: best mean accuracy {values.mean(axis=2).max():.4f}; {args.out}")


if __name__ == "__main__":
    main()
