"""Seconds per suggestion: ours beside BoTorch's standard loop and Optuna's samplers, in one process on one core.

    python benchmarks/speed.py                 # the whole table, under 5 minutes
    python benchmarks/speed.py --sizes 20 100  # fewer observations

Ours is `a2-rcgp-ucb` with its defaults, warm: `n` observations are known, then `--asks` more arrive one by one, and the mean
time of tell and ask counts. The peers are used as people use them: BoTorch fits a fresh `SingleTaskGP` and maximises
`UpperConfidenceBound` (10 restarts, 512 raw samples); Optuna's samplers suggest from `n` finished trials.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import optuna
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

from rcgp import make_optimizer

torch.set_num_threads(1)
warnings.simplefilter("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
Data = tuple[np.ndarray, np.ndarray]
PATIENCE = 45.0
"""Seconds after which BoTorch's fit, and its maximiser, are cut short: its time is then a lower bound."""


def sample(n: int, dim: int) -> Data:
    """A smooth function of a few coordinates with noise, and one observation in fifty a lie."""
    rng = np.random.default_rng([n, dim])
    X = rng.random((n, dim))
    y = np.sin(6 * X[:, 0]) + X[:, : min(dim, 4)].sum(axis=1) + 0.1 * rng.standard_normal(n)
    y[rng.random(n) < 0.02] = 1e3
    return X, y


def ours(data: Data, asks: int) -> float:
    X, y = data
    optimizer = make_optimizer("a2-rcgp-ucb", X.shape[1], seed=0, n_initial=5)
    for x, value in zip(X[:-asks], y[:-asks], strict=True):
        optimizer.tell(x, value)
    optimizer.ask()
    started = time.perf_counter()
    for x, value in zip(X[-asks:], y[-asks:], strict=True):
        optimizer.tell(x, value)
        optimizer.ask()
    return (time.perf_counter() - started) / asks


def botorch(data: Data, asks: int) -> float:
    X, Y = torch.from_numpy(data[0]), torch.from_numpy(data[1]).clamp(-10, 10)[:, None]
    bounds = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])]).double()
    started = time.perf_counter()
    model = SingleTaskGP(X, Y)
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
    fit_gpytorch_mll(likelihood, optimizer_kwargs={"timeout_sec": PATIENCE})
    acquisition = UpperConfidenceBound(model, beta=4.0)
    optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512, timeout_sec=PATIENCE)
    return time.perf_counter() - started


def optuna_sampler(make: Callable[[], optuna.samplers.BaseSampler]) -> Callable[[Data, int], float]:
    def measure(data: Data, asks: int) -> float:
        study = optuna.create_study(direction="maximize", sampler=make())
        space = {f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(data[0].shape[1])}
        for x, y in zip(*data, strict=True):
            params = {f"x{i}": float(v) for i, v in enumerate(x)}
            study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=float(y)))
        study.ask(space)
        started = time.perf_counter()
        study.ask(space)
        return time.perf_counter() - started

    return measure


PEERS = {
    "BoTorch": botorch,
    "Optuna GP": optuna_sampler(lambda: optuna.samplers.GPSampler(seed=0)),
    "Optuna TPE": optuna_sampler(lambda: optuna.samplers.TPESampler(seed=0)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 100, 300, 1000])
    parser.add_argument("--dims", type=int, nargs="+", default=[1, 6, 36])
    parser.add_argument("--asks", type=int, default=10)
    args = parser.parse_args()
    ours(sample(40, 2), 5), botorch(sample(20, 2), 1)  # warm up: imports and caches
    print("| n | d | ours, s | " + " | ".join(f"{peer}, s | ours / {peer}" for peer in PEERS) + " |")
    print("|---" * (3 + 2 * len(PEERS)) + "|")
    for n in args.sizes:
        for dim in args.dims:
            data = sample(n, dim)
            mine = ours(data, min(args.asks, n // 2))
            rows = [f"{seconds:.3f} | {mine / seconds:.2f}" for seconds in (peer(data, 1) for peer in PEERS.values())]
            print(f"| {n} | {dim} | {mine:.4f} | " + " | ".join(rows) + " |", flush=True)


if __name__ == "__main__":
    main()
