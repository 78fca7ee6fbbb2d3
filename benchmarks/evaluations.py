"""How fast the objectives are on one core, and whether there is something in them to find.

python benchmarks/evaluations.py                      # speed, digits by learning rate, lander by random search
python benchmarks/evaluations.py --cifar10 FOLDER     # also 2,000 CIFAR-10 images by learning rate
"""

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core, before NumPy and torch read it

import numpy as np

from objectives import OBJECTIVES, Objective, make_objective, prepare

LIMITS = {"resnet": 2.0, "lander": 1.0}
"""Seconds an evaluation may take on one idle core, after warm-up: held against CPU time, which a busy machine leaves alone."""


def seconds(call: Callable[[], object]) -> tuple[float, float]:
    """How long one call takes, by the clock and in CPU time."""
    clock, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - clock, time.process_time() - cpu


def speed(objective: Objective, repeats: int) -> tuple[float, float, float]:
    """Seconds of the first evaluation (imports and data included); then the median clock and CPU time at random points."""
    rng = np.random.default_rng(0)

    def once() -> None:
        objective.evaluate(rng.random(objective.dim), rng)

    warm_up, _ = seconds(lambda: (prepare(objective), once()))
    clock, cpu = np.median([seconds(once) for _ in range(repeats)], axis=0)
    return warm_up, float(clock), float(cpu)


def show_speed() -> None:
    """One line an objective: warm-up, seconds an evaluation by the clock and in CPU time, evaluations a second, the limit."""
    print(f"{'objective':12} {'warm-up s':>10} {'s/evaluation':>13} {'CPU s':>10} {'evaluations/CPU s':>18}  limit")
    for name in OBJECTIVES:
        repeats = {"resnet": 7, "lander": 100}.get(name, 300)
        warm_up, clock, cpu = speed(make_objective(name), repeats)
        limit = LIMITS.get(name)
        verdict = "" if limit is None else f"{limit} s: {'held' if cpu <= limit else 'MISSED'}"
        print(f"{name:12} {warm_up:10.2f} {clock:13.6f} {cpu:10.6f} {1 / cpu:18.1f}  {verdict}")


def show_accuracy(objective: Objective, seeds: int) -> None:
    """Validation accuracy over the range of learning rates, at the middle weight decay."""
    print(f"{'learning rate':>14} {'accuracy':>9} {'± s.d.':>7} {'s/evaluation':>13}")
    for u in np.linspace(0, 1, 9):
        x = np.array([u, 0.5])
        start = time.perf_counter()
        values = [objective.evaluate(x, np.random.default_rng([seed, 1])) for seed in range(seeds)]
        each = (time.perf_counter() - start) / seeds
        rate = objective.space.to_units(x)["learning_rate"]
        print(f"{rate:14.2e} {np.mean(values):9.3f} {np.std(values):7.3f} {each:13.2f}")


def show_lander(policies: int = 300, rounds: int = 400) -> None:
    """Random policies, then a random search around the best of them, judged on episodes it has not seen."""
    lander, rng = make_objective("lander"), np.random.default_rng(0)
    points = rng.random((policies, lander.dim))
    values = np.array([lander.evaluate(x, rng) for x in points])
    print(
        f"random policies: mean {values.mean():.1f} ± {values.std() / np.sqrt(policies):.1f} (s.e.), best {values.max():.1f}"
    )
    found = climb(lander, points[values.argmax()], values.max(), rounds, rng)
    fresh = np.array([lander.evaluate(found, np.random.default_rng([i, 9])) for i in range(25)])
    error = fresh.std() / np.sqrt(len(fresh))
    verdict = "better than random" if fresh.mean() - 3 * error > values.mean() else "NOT better than random"
    print(
        f"random search, {policies + rounds} evaluations: {fresh.mean():.1f} ± {error:.1f} on 100 fresh episodes, {verdict}"
    )


def climb(lander: Objective, x: np.ndarray, value: float, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """Step somewhere near; stay there if it is better on average over two evaluations."""
    for _ in range(rounds // 2):
        candidate = np.clip(x + rng.normal(0, 0.08, x.shape), 0, 1)
        there = np.mean([lander.evaluate(candidate, rng) for _ in range(2)])
        if there > value:
            x, value = candidate, float(there)
    return x


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cifar10", metavar="FOLDER", help="the folder that holds cifar-10-batches-bin or -py")
    parser.add_argument("--seeds", type=int, default=3, help="training runs per learning rate")
    arguments = parser.parse_args()
    show_speed()
    print("\nresnet on digits")
    show_accuracy(make_objective("resnet"), arguments.seeds)
    print("\nlander")
    show_lander()
    if arguments.cifar10:
        print("\nresnet on CIFAR-10, 2,000 images to train on and 2,000 to validate")
        sizes = {"train_size": 2000, "val_size": 2000, "stem_stride": 2}
        show_accuracy(make_objective("resnet", dataset="cifar10", data_dir=arguments.cifar10, **sizes), arguments.seeds)


if __name__ == "__main__":
    main()
