"""Seconds per suggestion: ours beside BoTorch's standard loop and Optuna's samplers, in one process on one core.

Seconds are the processor's, so that others who use the machine lengthen all of them alike.

    python benchmarks/speed.py                 # the whole table, under 5 minutes
    python benchmarks/speed.py --sizes 20 100  # fewer observations
    python benchmarks/speed.py --quality       # is the maximum found? against 100 times the search, 15 minutes
    python benchmarks/speed.py --pending       # many suggestions in a row, none of them answered yet
    python benchmarks/speed.py --curves        # three rows a trial, with and without trials that were stopped

Ours is `a2-rcgp-ucb` with its defaults, warm: `n` observations are known, then `--asks` more arrive one by one, and the mean
time of tell and ask counts. The peers are used as people use them: BoTorch fits a fresh `SingleTaskGP` and maximises
`UpperConfidenceBound` (10 restarts, 512 raw samples); Optuna's samplers suggest from `n` finished trials.

`--quality` compares the upper confidence bound our maximiser reaches on random posteriors with the best of 100 whole searches.
`--pending` asks m times in a row after one observation, each ask knowing the points before it, and compares with one.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

from rcgp import make_optimizer
from rcgp.acquisition import UCB, Maximizer
from rcgp.gaussian import KERNELS, GaussianPosterior, squared_distance

torch.set_num_threads(1)
warnings.simplefilter("ignore")
Data = tuple[np.ndarray, np.ndarray]
MULTIPLIER = 2.0
"""Deviations in the upper confidence bound of `--quality`."""
PATIENCE = 45.0
"""Seconds after which BoTorch's fit, and its maximiser, are cut short: its time is then a lower bound."""


def sample(n: int, dim: int) -> Data:
    """A smooth function of a few coordinates with noise, and one observation in fifty a lie."""
    rng = np.random.default_rng([n, dim])
    X = rng.random((n, dim))
    y = np.sin(6 * X[:, 0]) + X[:, : min(dim, 4)].sum(axis=1) + 0.1 * rng.standard_normal(n)
    y[rng.random(n) < 0.02] = 1e3
    return X, y


def samples(sizes: list[int], dims: list[int]) -> Iterator[tuple[int, int, Data]]:
    """The data of every row of a table."""
    for n, dim in itertools.product(sizes, dims):
        yield n, dim, sample(n, dim)


def ours(data: Data, asks: int) -> float:
    X, y = data
    optimizer = make_optimizer("a2-rcgp-ucb", X.shape[1], seed=0, n_initial=5)
    for x, value in zip(X[:-asks], y[:-asks], strict=True):
        optimizer.tell(x, value)
    optimizer.ask()
    started = time.process_time()
    for x, value in zip(X[-asks:], y[-asks:], strict=True):
        optimizer.tell(x, value)
        optimizer.ask()
    return (time.process_time() - started) / asks


def botorch(data: Data, asks: int) -> float:
    X, Y = torch.from_numpy(data[0]), torch.from_numpy(data[1]).clamp(-10, 10)[:, None]
    bounds = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])]).double()
    started = time.process_time()
    model = SingleTaskGP(X, Y)
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
    fit_gpytorch_mll(likelihood, optimizer_kwargs={"timeout_sec": PATIENCE})
    acquisition = UpperConfidenceBound(model, beta=4.0)
    optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512, timeout_sec=PATIENCE)
    return time.process_time() - started


def optuna_sampler(name: str) -> Callable[[Data, int], float]:
    def measure(data: Data, asks: int) -> float:
        optuna = import_optuna()
        study = optuna.create_study(direction="maximize", sampler=getattr(optuna.samplers, name)(seed=0))
        space = {f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(data[0].shape[1])}
        for x, y in zip(*data, strict=True):
            params = {f"x{i}": float(v) for i, v in enumerate(x)}
            study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=float(y)))
        study.ask(space)
        started = time.process_time()
        study.ask(space)
        return time.process_time() - started

    return measure


def import_optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise SystemExit("Optuna is missing: pip install 'rcgp-orchestrator[dev]' brings it.") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


PEERS = {
    "BoTorch": botorch,
    "Optuna GP": optuna_sampler("GPSampler"),
    "Optuna TPE": optuna_sampler("TPESampler"),
}


def print_speed(sizes: list[int], dims: list[int], asks: int) -> None:
    import_optuna()
    ours(sample(40, 2), 5), botorch(sample(20, 2), 1)  # warm up: imports and caches
    print("| n | d | ours, s | " + " | ".join(f"{peer}, s | ours / {peer}" for peer in PEERS) + " |")
    print("|---" * (3 + 2 * len(PEERS)) + "|")
    for n, dim, data in samples(sizes, dims):
        mine = ours(data, min(asks, n // 2))
        rows = [f"{seconds:.3f} | {mine / seconds:.2f}" for seconds in (peer(data, 1) for peer in PEERS.values())]
        print(f"| {n} | {dim} | {mine:.4f} | " + " | ".join(rows) + " |", flush=True)


def random_bound(dim: int, seed: int) -> UCB:
    """The bound of a random posterior: 10 to 200 rows, up to half of them around one point, as in a late search."""
    rng = np.random.default_rng([dim, seed])
    n, kernel = int(rng.integers(10, 200)), ("rbf", "matern52")[seed % 2]
    # a sixth of the cube's diameter to one and a half: few fits are shorter, their prior's median is four
    lengthscale = np.sqrt(dim) * 10.0 ** rng.uniform(-0.8, 0.2, dim)
    X, gathered = rng.random((n, dim)), rng.random(n) < rng.uniform(0.0, 0.5)
    X[gathered] = np.clip(rng.random(dim) + 0.1 * rng.standard_normal((gathered.sum(), dim)), 0.0, 1.0)
    noise = 10.0 ** rng.uniform(-4.0, -1.0)
    gram, _ = KERNELS[kernel](squared_distance(X, X, lengthscale))
    y = np.linalg.cholesky(gram + noise * np.eye(n)) @ rng.standard_normal(n)
    posterior = GaussianPosterior.condition(X, y, np.full(n, noise), lengthscale, kernel, noise)
    return UCB(posterior, MULTIPLIER)


def shortfall(dim: int, seed: int, larger: list[Maximizer]) -> float:
    """By how much, relative to it, our maximum of a random bound misses the best of `larger` searches."""
    bound = random_bound(dim, seed)

    def reached(maximizer: Maximizer) -> float:
        x = maximizer.maximize(bound, np.random.default_rng([seed, maximizer.seed]))
        return float(bound.value(x[None])[0])

    mine, best = reached(Maximizer(dim, seed)), max(map(reached, larger))
    return max(0.0, best - mine) / abs(best)


def print_quality(dims: list[int], cases: int) -> None:
    print("| d | within 0.5 % of 100 times the search | mean shortfall | worst |\n|---|---|---|---|")
    for dim in dims:
        larger = [Maximizer(dim, 1000 + repeat, max_iterations=200) for repeat in range(100)]
        missed = np.array([shortfall(dim, seed, larger) for seed in range(cases)])
        good = int((missed <= 0.005).sum())
        print(f"| {dim} | {good} of {cases} | {missed.mean():.3%} | {missed.max():.3%} |", flush=True)


def in_a_row(data: Data, asks: int) -> float:
    """Seconds of one more observation and `asks` suggestions, each knowing that those before it are being tried."""
    X, y = data
    optimizer = make_optimizer("a2-rcgp-ucb", X.shape[1], seed=0, n_initial=5)
    for x, value in zip(X[:-1], y[:-1], strict=True):
        optimizer.tell(x, value)
    optimizer.ask()
    started = time.process_time()
    optimizer.tell(X[-1], y[-1])
    waiting: list[np.ndarray] = []
    for _ in range(asks):
        waiting.append(optimizer.ask(np.array(waiting) if waiting else None))
    return time.process_time() - started


def print_pending(sizes: list[int], dims: list[int]) -> None:
    counts = (1, 4, 16, 64)
    in_a_row(sample(40, 2), 4)  # warm up
    print("| n | d | " + " | ".join(f"m = {m}, s | each / one" for m in counts) + " |")
    print("|---" * (2 + 2 * len(counts)) + "|")
    for n, dim, data in samples(sizes, dims):
        seconds = [float(np.median([in_a_row(data, m) for _ in range(3)])) for m in counts]
        cells = [f"{s:.3f} | {s / m / seconds[0]:.2f}" for m, s in zip(counts, seconds, strict=True)]
        print(f"| {n} | {dim} | " + " | ".join(cells) + " |", flush=True)


RUNGS = (1 / 9, 1 / 3, 1.0)
"""Shares of the budget at which trials of `--curves` report."""


def with_curves(data: Data, asks: int, stopped: float) -> float:
    """Seconds of one more trial of three reports and a suggestion, where that share of the trials was stopped before its last."""
    X, y = data
    optimizer, rng = make_optimizer("a2-rcgp-ucb", X.shape[1], seed=0, n_initial=5), np.random.default_rng(0)
    started = 0.0
    for number, (x, value) in enumerate(zip(X, y, strict=True)):
        reports = [(share, float(value * share**0.3)) for share in RUNGS[: 1 if rng.random() < stopped else 3]]
        optimizer.tell(x, reports[-1][1], resource=reports[-1][0], curve=reports[:-1])
        if number + 1 == len(X) - asks:
            optimizer.ask()
            started = time.process_time()
        elif started or number % 20 == 19:
            optimizer.ask()
    return (time.process_time() - started) / asks


def print_curves(sizes: list[int], dims: list[int], asks: int) -> None:
    shares = (0.0, 0.1, 0.7)
    with_curves(sample(40, 2), 5, 0.5)  # warm up
    print("| trials | d | one row a trial, s | " + " | ".join(f"{s:.0%} stopped, s | ratio" for s in shares) + " |")
    print("|---" * (3 + 2 * len(shares)) + "|")
    for n, dim, data in samples(sizes, dims):
        plain = ours(data, min(asks, n // 2))
        seconds = [with_curves(data, min(asks, n // 2), share) for share in shares]
        cells = " | ".join(f"{s:.4f} | {s / plain:.2f}" for s in seconds)
        print(f"| {n} | {dim} | {plain:.4f} | {cells} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 100, 300, 1000])
    parser.add_argument("--dims", type=int, nargs="+", help="default: 1 6 36, and 2 for --quality")
    parser.add_argument("--asks", type=int, default=10)
    parser.add_argument("--cases", type=int, default=100, help="random posteriors a dimension, for --quality")
    table = parser.add_mutually_exclusive_group()
    table.add_argument("--quality", action="store_true", help="how good the maximum of the bound is")
    table.add_argument("--pending", action="store_true", help="what suggestions in a row cost")
    table.add_argument("--curves", action="store_true", help="what trials that report three times cost")
    args = parser.parse_args()
    if args.curves:
        print_curves(args.sizes, args.dims or [1, 6, 36], args.asks)
    elif args.quality:
        print_quality(args.dims or [1, 2, 6, 36], args.cases)
    elif args.pending:
        print_pending(args.sizes, args.dims or [1, 6, 36])
    else:
        print_speed(args.sizes, args.dims or [1, 6, 36], args.asks)


if __name__ == "__main__":
    main()
