"""What a posterior is made by, and the paper's three baselines: GP, Student-t process and DiagnosticsGP.

A surrogate is frozen options and one function, `update`: from all observations and the previous state to the next.
Whatever it remembers is in the state, so that a restored optimizer continues exactly where the original stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np
from scipy.special import stdtrit

from rcgp.choices import unknown
from rcgp.evidence import Evidence
from rcgp.fit import Data, Hyperparameters, Score, fit, marginal_likelihood, student_t_likelihood
from rcgp.gaussian import KERNELS, Array, GaussianPosterior, Mask
from rcgp.lies.rival import Rival
from rcgp.state import Scaling, SurrogateState

Column = TypeVar("Column", Array, Mask)


@dataclass(frozen=True)
class Surrogate:
    """What all five share: the kernel, and when to fit again.

    Objectives are seldom as smooth as the RBF kernel supposes: with Matern-5/2 regret without lies was 0.4 to 1.2 times as much.
    Every observation refits while there are few; past `eager` rows a fit waits for `n // refit_divisor` new ones, and past
    `fit_rows` it sees an evenly spread choice of so many: more rows hardly move a handful of hyper-parameters. With `bend` a
    search tells it values that are bent where they are worse than others by orders of magnitude: see `rcgp.bend`. With
    `compare_reporters` it leaves out what comes from one that says nothing of the objective: see `rcgp.lies.reporters`.
    """

    kernel: str = "matern52"
    eager: int = 40
    refit_divisor: int = 20
    fit_rows: int = 500
    bend: bool = False
    compare_reporters: bool = False

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(unknown("kernel", self.kernel, KERNELS))

    def update(
        self, X: Array, y: Array, previous: SurrogateState | None, evidence: Evidence | None = None
    ) -> SurrogateState:
        """The state given `X` (`n x d`) and `y` (`n`, any floats), knowing the state of the first rows of them.

        `evidence` is what is known beside the values; a row that a person called a lie arrives as NaN.
        """
        raise NotImplementedError

    def rivals(self, X: Array, y: Array, state: SurrogateState, evidence: Evidence) -> Iterator[Rival]:
        """Other explanations of the rows than `state`, its own, that a trial might confirm."""
        return iter(())

    def insisting(self, X: Array, y: Array, state: SurrogateState) -> Mask:
        """Which suspects (`n`, boolean) say nothing new by saying it again."""
        return np.zeros(state.n, dtype=bool)

    def fit_is_due(self, n: int, previous: SurrogateState | None) -> bool:
        if previous is None or n <= self.eager:
            return True
        return n - previous.fitted_at >= max(1, n // self.refit_divisor)

    def refit(self, data: Data, score: Score, start: Hyperparameters | None, *, due: bool = True) -> Hyperparameters:
        """Hyper-parameters from `data`, warm-started; as they were when no fit is due or there is nothing to fit."""
        default = Hyperparameters.default(data.X.shape[1])
        if not due or len(data.z) < 3 or np.ptp(data.z) == 0.0:
            return start or default
        starts = [default] if start is None else [start] if len(data.z) > self.eager else [start, default]
        if len(data.z) > self.fit_rows:
            data = data.rows(np.linspace(0, len(data.z) - 1, self.fit_rows).astype(int))
        return fit(data, starts, self.kernel, score).hyper


@dataclass(frozen=True)
class GaussianSurrogate(Surrogate):
    """The ordinary Gaussian process: trusts every finite number it is told."""

    def update(
        self, X: Array, y: Array, previous: SurrogateState | None, evidence: Evidence | None = None
    ) -> SurrogateState:
        return self.on_rows(X, y, np.isfinite(y), previous, evidence or Evidence.none(len(y)))

    def on_rows(
        self, X: Array, y: Array, kept: Mask, previous: SurrogateState | None, evidence: Evidence
    ) -> SurrogateState:
        """The Gaussian process on the `kept` rows (`n`, boolean) alone."""
        scaling, due = Scaling.of(y[kept]), self.fit_is_due(len(y), previous)
        own = evidence.own_noise(scaling.deviation)
        data = Data.trusted(X[kept], scaling.to_scaled(y[kept]), own[kept])
        hyper = self.refit(data, marginal_likelihood, hyper_of(previous), due=due)
        noise_inflation = np.where(kept, 1.0, np.inf)
        at = fitted_at(len(y), due, previous)
        return SurrogateState(scaling, hyper, noise_inflation, np.zeros(len(y)), at, own_noise=if_any(own))


@dataclass(frozen=True)
class StudentTSurrogate(Surrogate):
    """Student-t process (Shah et al. 2014): the GP's mean, its covariance scaled by (nu + t^T a - 2)/(nu + n - 2)."""

    nu: float = 5.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.nu > 2.0:
            raise ValueError(f"nu must exceed 2 for the variance to exist, got {self.nu}.")

    def update(
        self, X: Array, y: Array, previous: SurrogateState | None, evidence: Evidence | None = None
    ) -> SurrogateState:
        kept, due = np.isfinite(y), self.fit_is_due(len(y), previous)
        scaling = Scaling.of(y[kept])
        z, own = scaling.to_scaled(y[kept]), (evidence or Evidence.none(len(y))).own_noise(scaling.deviation)
        data = Data.trusted(X[kept], z, own[kept])
        hyper = self.refit(data, student_t_likelihood(self.nu), hyper_of(previous), due=due)
        noise_inflation, target_shift = np.where(kept, 1.0, np.inf), np.zeros(len(y))
        at = fitted_at(len(y), due, previous)
        state = SurrogateState(scaling, hyper, noise_inflation, target_shift, at, own_noise=if_any(own))
        distance = float(z @ state.posterior(X, y, self.kernel).alpha)
        covariance_scale = (self.nu + distance - 2.0) / (self.nu + len(z) - 2.0)
        return replace(state, covariance_scale=covariance_scale, _posterior=None)


@dataclass(frozen=True)
class DiagnosticsSurrogate(Surrogate):
    """DiagnosticsGP (Martinez-Cantin et al. 2018): a GP with Student-t likelihood finds outliers, a GP takes the rest.

    The Student-t likelihood is a scale mixture, y_i ~ N(f_i, sigma^2 / lambda_i) with lambda_i ~ Gamma(nu/2, nu/2), so that
    mean-field variational inference is closed form: E lambda_i = (nu + 1) / (nu + E (y_i - f_i)^2 / sigma^2).
    """

    nu: float = 4.0
    level: float = 0.975
    rounds: int = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.nu > 0.0:
            raise ValueError(f"nu must be positive, got {self.nu}.")
        if not 0.5 < self.level < 1.0:
            raise ValueError(f"level must lie in (0.5, 1), got {self.level}.")

    def update(
        self, X: Array, y: Array, previous: SurrogateState | None, evidence: Evidence | None = None
    ) -> SurrogateState:
        evidence = evidence or Evidence.none(len(y))
        finite = np.isfinite(y)
        kept = finite.copy()
        if finite.any():
            kept[finite] = self._believable(X[finite], y[finite], previous, evidence.rows(finite))
        if kept.sum() < 0.5 * finite.sum():  # a mask that drops most rows explains nothing: keep the last one
            kept = finite.copy()
            if previous is not None:
                kept[: previous.n] &= previous.kept
        shared = {field.name: getattr(self, field.name) for field in fields(Surrogate)}
        return GaussianSurrogate(**shared).on_rows(X, y, kept, previous, evidence)

    def _believable(self, X: Array, y: Array, previous: SurrogateState | None, evidence: Evidence) -> Mask:
        """Rows within the `level` quantile of the Student-t predictive distribution, as booleans of shape `n`."""
        scaling = Scaling.of(y)
        z, own = scaling.to_scaled(y), evidence.own_noise(scaling.deviation)
        hyper = previous.hyper if previous else Hyperparameters.default(X.shape[1])
        precision = np.ones(len(z))
        data = Data(X, z, 1.0 / precision, np.zeros(len(z)), own)
        mean, variance = np.zeros(len(z)), np.ones(len(z))
        for step in range(self.rounds):
            if step % 10 == 5:  # variational EM; a fit before the first precisions would explain the outliers away
                hyper = self.refit(data, marginal_likelihood, hyper)
            noises = (hyper.noise + own) * data.noise_inflation
            posterior = GaussianPosterior.condition(X, z, noises, hyper.lengthscale, self.kernel, hyper.noise)
            mean, variance = posterior.mean_and_variance(X)
            updated = (self.nu + 1.0) / (self.nu + ((z - mean) ** 2 + variance) / (hyper.noise + own))
            converged = np.max(np.abs(updated - precision)) < 1e-3
            precision, data = updated, replace(data, noise_inflation=1.0 / updated)
            if converged and step > 5:
                break
        limit = stdtrit(self.nu, self.level) * np.sqrt(hyper.noise + own + variance)
        return (np.abs(z - mean) <= limit) | evidence.vouched


def hyper_of(previous: SurrogateState | None) -> Hyperparameters | None:
    """The hyper-parameters of the state before, where there was one."""
    return None if previous is None else previous.hyper


def if_any(column: Column) -> Column | None:
    """The column (`n`) as it is; None where it says nothing of any row."""
    return column if column.any() else None


def fitted_at(n: int, due: bool, previous: SurrogateState | None) -> int:
    """The number of rows at the last fit: this one's `n` if it was due."""
    return n if due or previous is None else previous.fitted_at
