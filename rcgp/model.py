"""`RobustGP`, the RCGP as a BoTorch `Model`: usable in any acquisition function."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Self

import numpy as np
import torch
from botorch.acquisition.objective import PosteriorTransform
from botorch.exceptions.errors import UnsupportedError
from botorch.models.model import FantasizeMixin, Model
from botorch.models.transforms.input import InputTransform
from botorch.models.transforms.outcome import OutcomeTransform
from botorch.models.utils.gpytorch_modules import (
    get_covar_module_with_dim_scaled_prior,
    get_gaussian_likelihood_with_lognormal_prior,
)
from botorch.optim.closures import ForwardBackwardClosure
from botorch.optim.core import OptimizationStatus, scipy_minimize
from botorch.optim.utils import get_parameters_and_bounds
from botorch.posteriors import GPyTorchPosterior, Posterior
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.module import Module
from linear_operator import to_linear_operator
from torch import Tensor

from rcgp.algorithms import make_surrogate
from rcgp.evidence import Evidence
from rcgp.fit import POWERS
from rcgp.weights import KnownWeights, PlateauIMQ, pseudo_data

log = logging.getLogger(__name__)

LOST = 1e300
"""Noise inflation that stands for an infinite one: the row has no influence, and its square root still is a number."""

RENAMED_BUFFERS = {"_factor": "_noise_inflation", "_shift": "_target_shift"}
"""What buffers of a saved model were called once, and are called now."""


class RobustGP(Model, FantasizeMixin, Module):
    r"""Robust conjugate Gaussian process: an exact GP on pseudo-data, with targets moved and noise inflated by the weights.

        mean(x)     = m + k(x)^T (K + sigma^2 J)^-1 (y - m - m_w)
        variance(x) = k(x, x) - k(x)^T (K + sigma^2 J)^-1 k(x)

    with J and m_w from `weight(y - center)`. Where all residuals lie on the plateau it equals the standard GP. Outcomes should
    be standardised (pass `outcome_transform=Standardize(1)`, or let `RobustGP.robust` choose scale, weights and kernel).

    Args:
        train_X: inputs, `batch_shape x n x d`.
        train_Y: outcomes, `batch_shape x n x 1`; infinite and NaN values are rows without influence.
        train_Yvar: the variance that each outcome brings itself, `batch_shape x n x 1`, beside sigma^2; default none.
        weight: from residuals (`n`) to noise inflation and target shift; default `PlateauIMQ(1.96, 1.0)`,
            for standardised outcomes.
        center: g(x) at the training inputs, a number or `n` numbers, in transformed outcome units.
        noise: sigma^2; fixed only until the model is fitted.
        mean: the constant prior mean m.
        covar_module: kernel; default ARD RBF with dimension-scaled length-scale prior and unit variance.
    """

    def __init__(
        self,
        train_X: Tensor,
        train_Y: Tensor,
        train_Yvar: Tensor | None = None,
        *,
        weight: PlateauIMQ | KnownWeights | None = None,
        center: float | Tensor = 0.0,
        noise: float | Tensor | None = None,
        mean: float = 0.0,
        covar_module: Kernel | None = None,
        likelihood: GaussianLikelihood | None = None,
        input_transform: InputTransform | None = None,
        outcome_transform: OutcomeTransform | None = None,
    ) -> None:
        super().__init__()
        if train_X.shape[:-1] != train_Y.shape[:-1] or train_Y.shape[-1] != 1:
            raise ValueError(
                f"train_X (n x d) and train_Y (n x 1) do not fit: {tuple(train_X.shape)} and {tuple(train_Y.shape)}."
            )
        variance = torch.zeros_like(train_Y) if train_Yvar is None else train_Yvar
        if variance.shape != train_Y.shape or not bool((variance >= 0).all()):
            raise ValueError(
                f"train_Yvar must have the shape of train_Y, {tuple(train_Y.shape)}, and no negative number."
            )
        if outcome_transform is not None:
            train_Y, variance = outcome_transform(train_Y, variance)
            self.outcome_transform = outcome_transform.eval()
        if input_transform is not None:
            self.input_transform = input_transform.to(train_X)
            with torch.no_grad():
                self.input_transform(train_X)  # in training mode: learns its coefficients
        self.covar_module = covar_module or get_covar_module_with_dim_scaled_prior(ard_num_dims=train_X.shape[-1])
        self.likelihood = likelihood or get_gaussian_likelihood_with_lognormal_prior()
        self.weight: PlateauIMQ | KnownWeights = weight or PlateauIMQ(1.96, 1.0)
        self.register_buffer("_own_noise", variance.squeeze(-1))
        self._set_data(
            train_X, train_Y.squeeze(-1), torch.as_tensor(center, dtype=train_X.dtype, device=train_X.device), mean
        )
        self.to(train_X)
        if noise is not None:
            # as a tensor: gpytorch would round a Python float to single precision
            self.likelihood.noise = torch.as_tensor(noise, dtype=train_X.dtype, device=train_X.device)
        self._cache: tuple[Tensor, Tensor] | None = None

    def _set_data(self, X: Tensor, y: Tensor, center: Tensor, mean: float) -> None:
        noise_inflation, target_shift = self.weight(y - center)
        lost = ~(torch.isfinite(noise_inflation) & torch.isfinite(y))
        self.register_buffer("train_X", X)
        self.register_buffer("_noise_inflation", noise_inflation.masked_fill(lost, LOST))
        self.register_buffer("_target_shift", target_shift.masked_fill(lost, 0.0))
        self.register_buffer("_y", y.masked_fill(lost, mean))
        self.register_buffer("_lost", lost)
        self.register_buffer("_mean", torch.as_tensor(mean, dtype=X.dtype, device=X.device))

    @classmethod
    def robust(cls, train_X: Tensor, train_Y: Tensor, train_Yvar: Tensor | None = None, **options: object) -> Self:
        """The model A2-RCGP-UCB would use: scale, weights and hyper-parameters by its rule, and its options.

        `train_X` is `n x d` in the unit cube, `train_Y` is `n x 1` in any units; so is the posterior. `train_Yvar` (`n x 1`) is
        the variance that outcomes bring themselves: means over folds or seeds know it.
        """
        surrogate = make_surrogate("a2-rcgp-ucb", options)
        assert surrogate is not None
        X, y = train_X.detach().cpu().double().numpy(), train_Y.detach().cpu().double().squeeze(-1).numpy()
        error = (
            np.zeros(len(y)) if train_Yvar is None else train_Yvar.detach().cpu().double().sqrt().squeeze(-1).numpy()
        )
        state = surrogate.update(X, y, None, replace(Evidence.none(len(y)), error=error))
        scale = state.scaling.spread * state.scaling.unit
        base = RBFKernel if surrogate.kernel == "rbf" else MaternKernel
        kernel = ScaleKernel(base(ard_num_dims=X.shape[1]))
        kernel.to(train_X)
        kernel.base_kernel.lengthscale = torch.from_numpy(state.hyper.lengthscale).to(train_X)
        kernel.outputscale = torch.as_tensor(scale**2, dtype=train_X.dtype, device=train_X.device)
        known = state.noise_inflation, state.target_shift / scale
        weight = KnownWeights(*(torch.from_numpy(values).to(train_X) for values in known))
        mean = float(state.scaling.to_units(np.zeros(1))[0])
        noise = state.hyper.noise * scale**2
        # sigma^2 is in the units of the outcomes here, where BoTorch's floor for standardised ones has no meaning
        return cls(
            train_X,
            train_Y,
            train_Yvar,
            weight=weight,
            noise=noise,
            mean=mean,
            covar_module=kernel,
            likelihood=GaussianLikelihood(),
        )

    @property
    def weights(self) -> Tensor:
        """u^2 = 1/J of every observation, `batch_shape x n`: 1 is full trust, 0 a row without influence."""
        return (1.0 / self._noise_inflation).masked_fill(self._lost, 0.0)

    @property
    def num_outputs(self) -> int:
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        return self.train_X.shape[:-2]

    @property
    def noise(self) -> Tensor:
        """sigma^2, the noise variance of a fully trusted observation."""
        return self.likelihood.noise.squeeze(-1)

    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> Posterior:
        """Joint posterior at `X` (`batch_shape x q x d`), in the units of the untransformed outcomes."""
        self.eval()
        if output_indices not in (None, [0]):
            raise UnsupportedError(f"RobustGP has one output, got output_indices={output_indices}.")
        inputs = self.transform_inputs(X)
        mean, covariance = self._predict(inputs)
        if observation_noise is not False:
            extra = self.noise if observation_noise is True else observation_noise.squeeze(-1)
            covariance = covariance + torch.diag_embed(extra.expand(mean.shape))
        posterior: Posterior = GPyTorchPosterior(MultivariateNormal(mean, to_linear_operator(covariance)))
        if hasattr(self, "outcome_transform"):
            posterior = self.outcome_transform.untransform_posterior(posterior, X=X)
        return posterior_transform(posterior, X=X) if posterior_transform is not None else posterior

    def _predict(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (`... x q`) and covariance (`... x q x q`) at transformed inputs (`... x q x d`)."""
        lower, alpha = self._solved()
        cross = self.covar_module(inputs, self.transform_inputs(self.train_X)).to_dense()
        half = torch.linalg.solve_triangular(lower, cross.mT, upper=False)
        mean = self._mean + (cross @ alpha.unsqueeze(-1)).squeeze(-1)
        return mean, self.covar_module(inputs).to_dense() - half.mT @ half

    def _solved(self) -> tuple[Tensor, Tensor]:
        """Cholesky factor L of K + sigma^2 J (`... x n x n`) and its solution for the pseudo-targets (`... x n`)."""
        if self._cache is not None:
            return self._cache
        inputs = self.transform_inputs(self.train_X)
        noise = self.noise.unsqueeze(-1) + self._own_noise
        targets, noises = pseudo_data(self._y - self._mean, noise, self._noise_inflation, self._target_shift)
        lower = torch.linalg.cholesky(self.covar_module(inputs).to_dense() + torch.diag_embed(noises))
        solved = lower, torch.cholesky_solve(targets.unsqueeze(-1), lower).squeeze(-1)
        if not self.training:
            self._cache = solved[0].detach(), solved[1].detach()
        return solved

    def leave_one_out(self) -> tuple[Tensor, Tensor]:
        """Residual y_i - mu_-i and predictive variance of every observation under the model without it, both `... x n`."""
        lower, alpha = self._solved()
        gram = self.covar_module(self.transform_inputs(self.train_X)).to_dense()
        inverse = torch.cholesky_inverse(lower)
        diagonal = inverse.diagonal(dim1=-1, dim2=-2)
        # (K B)_ii / d_i is 1/d_i - sigma^2 J_i without its cancellation at astronomical J
        latent = ((gram * inverse).sum(-1) / diagonal).clamp_min(1e-12)
        noise = self.noise.unsqueeze(-1) + self._own_noise
        return noise * self._target_shift + alpha / diagonal, latent + noise

    def score(self, power: float = POWERS["robust"]) -> Tensor:
        """Leave-one-out log predictive density, observation i counting u_i^power, plus the log priors (`batch_shape`)."""
        residual, variance = self.leave_one_out()
        density = -0.5 * torch.log(2 * torch.pi * variance) - residual.square() / (2 * variance)
        total = (self.weights ** (0.5 * power) * density).sum(-1)
        for _, module, prior, closure, _ in self.named_priors():
            total = total + prior.log_prob(closure(module)).sum()
        return total

    def fit(self, power: float | str = "robust") -> bool:
        """Maximise `score` over all hyper-parameters; a failed fit keeps the last good ones, says so and returns False."""
        exponent = POWERS[power] if isinstance(power, str) else power
        before = {name: value.detach().clone() for name, value in self.state_dict().items()}
        self.train()
        parameters, bounds = get_parameters_and_bounds(self)
        parameters = {name: value for name, value in parameters.items() if value.requires_grad}
        closure = ForwardBackwardClosure(lambda: -self.score(exponent).sum(), parameters)
        try:
            result = scipy_minimize(closure, parameters, bounds=bounds, options={"maxiter": 200})
            ok = result.status != OptimizationStatus.FAILURE and bool(torch.isfinite(torch.as_tensor(result.fval)))
            reason = result.message
        except (RuntimeError, ValueError) as error:  # torch's Cholesky and SciPy's line search give up with these
            ok, reason = False, str(error)
        if not ok:
            self.load_state_dict(before)
            log.warning("Fit of RobustGP failed (%s): the last good parameters stay.", reason)
        self.eval()
        return ok

    def condition_on_observations(self, X: Tensor, Y: Tensor, **kwargs: object) -> RobustGP:
        """The model given also `Y` (`batch_shape x n' x 1`) at `X` (`batch_shape x n' x d`), fully trusted (J = 1).

        New rows are believed because they are fantasies or checked values: what may be a lie belongs in `train_Y`.
        """
        if hasattr(self, "outcome_transform"):
            Y, _ = self.outcome_transform(Y)
        batch = Y.shape[:-2]
        rows = X.expand(*batch, *X.shape[-2:])
        count = self.train_X.shape[-2]
        old = (self._y, self._own_noise, self._noise_inflation, self._target_shift)
        none = torch.zeros_like(Y[..., 0])
        new = (Y[..., 0], none, torch.ones_like(none), none)
        y, own_noise, *known = (torch.cat([a.expand(*batch, count), b], -1) for a, b in zip(old, new, strict=True))
        inputs = torch.cat([self.train_X.expand(*batch, count, X.shape[-1]), rows], dim=-2)
        return self._copy(inputs, y, own_noise, KnownWeights(*known))

    def with_pending(self, X: Tensor) -> RobustGP:
        """The model once `X` (`m x d`) report what it expects: the same mean exactly, less variance around them."""
        with torch.no_grad():
            return self.condition_on_observations(X, self.posterior(X).mean)

    def _copy(self, X: Tensor, y: Tensor, own_noise: Tensor, weight: KnownWeights) -> RobustGP:
        """The same hyper-parameters and transforms on other (already transformed) outcomes."""
        model = RobustGP(
            X,
            y.unsqueeze(-1),
            own_noise.unsqueeze(-1),
            weight=weight,
            mean=float(self._mean),
            covar_module=self.covar_module,
            likelihood=self.likelihood,
            input_transform=getattr(self, "input_transform", None),
        )
        if hasattr(self, "outcome_transform"):
            model.outcome_transform = self.outcome_transform
        return model.eval()

    def subset_output(self, idcs: list[int]) -> RobustGP:
        if idcs != [0]:
            raise UnsupportedError(f"RobustGP has one output, got indices {idcs}.")
        return self

    def train(self, mode: bool = True) -> Self:
        self._cache = None if mode else self._cache
        return super().train(mode)

    def load_state_dict(self, state_dict: Mapping[str, Tensor], *args: object, **kwargs: object) -> object:
        """Become what was saved; the buffers of an older save may have their earlier names."""
        self._cache = None
        renamed = {RENAMED_BUFFERS.get(name, name): value for name, value in state_dict.items()}
        renamed.setdefault("_own_noise", self._own_noise)  # once no outcome brought any
        return super().load_state_dict(renamed, *args, **kwargs)

    def _set_transformed_inputs(self) -> None:
        """Nothing to store: the transform is applied to the original training inputs whenever they are used."""

    def _revert_to_original_inputs(self) -> None:
        """Nothing to revert: see `_set_transformed_inputs`."""
