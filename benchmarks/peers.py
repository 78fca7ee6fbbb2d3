"""Other people's optimizers behind ask, tell and recommend; each is given the common initial points like everybody else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rcgp import make_optimizer

PEERS = ("optuna-tpe", "optuna-gp")


class OptunaPeer:
    """One of Optuna's samplers."""

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

    def tell(self, x: np.ndarray, y: float, reporter: str) -> None:
        state = self._optuna.trial.TrialState
        good = math.isfinite(y)
        self._study.tell(self._trials[-1], y if good else None, state=state.COMPLETE if good else state.FAIL)

    def recommend(self) -> int:
        """The trial with the best report, as Optuna hands it over."""
        return int(self._study.best_trial.number)

    def suspected(self) -> set[int]:
        return set()


class BoTorchPeer:
    """BoTorch's loop on everything finite that was told; what is modelled and maximised is the subclass's."""

    def __init__(self, dim: int, seed: int, initial: int) -> None:
        self._dim, self._seed, self._initial = dim, seed, initial
        self._sobol = make_optimizer("random", dim, seed=seed, n_initial=initial)
        self._X: list[np.ndarray] = []
        self._y: list[float] = []

    def _told(self) -> tuple[Any, Any]:
        """Points (`n x d`) and standardised reports (`n x 1`), the finite ones, as tensors."""
        import torch

        torch.manual_seed(self._seed * 1000 + len(self._X))
        X, y = torch.tensor(np.array(self._X)), torch.tensor(np.array(self._y))
        kept = torch.isfinite(y)
        return X[kept], ((y[kept] - y[kept].mean()) / y[kept].std())[:, None]

    def _model(self) -> Any:
        """The fitted model of what was told."""
        raise NotImplementedError

    def _acquisition(self, model: Any) -> Any:
        raise NotImplementedError

    def ask(self) -> np.ndarray:
        if len(self._X) < self._initial:
            return self._sobol.ask()
        import torch
        from botorch.optim import optimize_acqf

        acquisition = self._acquisition(self._model())
        bounds = torch.tensor([[0.0] * self._dim, [1.0] * self._dim], dtype=torch.float64)
        point, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=5, raw_samples=256)
        found: np.ndarray = point[0].numpy()
        return found

    def tell(self, x: np.ndarray, y: float, reporter: str) -> None:
        self._sobol.tell(x, 0.0)
        self._X.append(x)
        self._y.append(y)

    def recommend(self) -> int:
        """The trial with the highest posterior mean."""
        import torch

        model = self._model()
        with torch.no_grad():
            return int(model.posterior(torch.tensor(np.array(self._X))).mean.argmax())

    def suspected(self) -> set[int]:
        return set()


class RelevancePursuit(BoTorchPeer):
    """BoTorch's robust relevance pursuit with UCB, as its tutorial runs it; seconds to minutes a suggestion."""

    def _model(self) -> Any:
        from botorch.fit import fit_gpytorch_mll
        from botorch.models.robust_relevance_pursuit_model import RobustRelevancePursuitSingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = RobustRelevancePursuitSingleTaskGP(*self._told())
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    def _acquisition(self, model: Any) -> Any:
        from botorch.acquisition import UpperConfidenceBound

        return UpperConfidenceBound(model, 0.8 * math.log(2 * (len(model.train_targets) + 2)))


class NoisyExpectedImprovement(BoTorchPeer):
    """BoTorch's default model with its noisy log expected improvement, as its documentation recommends for noisy objectives."""

    def _model(self) -> Any:
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = SingleTaskGP(*self._told())
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    def _acquisition(self, model: Any) -> Any:
        from botorch.acquisition import qLogNoisyExpectedImprovement

        return qLogNoisyExpectedImprovement(model, model.train_inputs[0])


BOTORCH = {"botorch-rrp": RelevancePursuit, "botorch-lognei": NoisyExpectedImprovement}
