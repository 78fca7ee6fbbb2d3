"""A BoTorch loop as anybody would write it; only the line that builds the model differs.

Branin is maximised by its upper confidence bound. Every eighth report is a lie: a crash written down as -10000, or a
sensor's +10000. The loop runs with BoTorch's `SingleTaskGP` and with `RobustGP`, under the same lies, and shows how good the
point really is that each model believes to be the best.

    python examples/botorch_loop.py [--trials 30]
"""

import argparse
from collections.abc import Callable

import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition import UpperConfidenceBound
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.optim import optimize_acqf
from botorch.test_functions import Branin
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from rcgp import SUSPECT_WEIGHT, RobustGP

BRANIN = Branin(negate=True).double()
UNIT_SQUARE = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)


def ordinary(X: Tensor, Y: Tensor) -> Model:
    """What the script had before."""
    model = SingleTaskGP(X, Y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def robust(X: Tensor, Y: Tensor) -> Model:
    """What it has now: scale, weights and hyper-parameters by A2-RCGP's rule."""
    return RobustGP.robust(X, Y)


def truth(x: Tensor) -> Tensor:
    """Branin at points (`n x 2`) of the unit square."""
    low, high = BRANIN.bounds
    return BRANIN(low + (high - low) * x).unsqueeze(-1)


def measure(x: Tensor, trial: int) -> Tensor:
    """What is reported for a point (`1 x 2`)."""
    if trial % 8 == 3:
        return torch.full((1, 1), 1e4 if trial % 16 == 3 else -1e4, dtype=torch.float64)
    return truth(x)


def search(build: Callable[[Tensor, Tensor], Model], trials: int) -> tuple[Model, Tensor]:
    """The loop; returns the last model and the points (`n x 2`) it was built on."""
    torch.manual_seed(0)
    X = torch.quasirandom.SobolEngine(2, scramble=True, seed=0).draw(6, dtype=torch.float64)
    Y = truth(X)
    for trial in range(trials):
        acquisition = UpperConfidenceBound(build(X, Y), beta=4.0)
        x, _ = optimize_acqf(acquisition, UNIT_SQUARE, q=1, num_restarts=4, raw_samples=64)
        X, Y = torch.cat([X, x]), torch.cat([Y, measure(x, trial)])
    return build(X, Y), X


def show(name: str, model: Model, X: Tensor) -> None:
    best = X[model.posterior(X).mean.argmax()].unsqueeze(0)
    print(f"{name:>12}: recommends {best[0].numpy().round(3)}, really {truth(best).item():.2f} (the maximum is -0.40)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=30)
    trials = parser.parse_args().trials
    show("SingleTaskGP", *search(ordinary, trials))
    model, X = search(robust, trials)
    show("RobustGP", model, X)
    doubted = [row - 6 for row, weight in enumerate(model.weights.tolist()) if weight < SUSPECT_WEIGHT]
    print(f"{'':>12}  doubts the reports of trials {doubted}; lies were {[t for t in range(trials) if t % 8 == 3]}")


if __name__ == "__main__":
    main()
