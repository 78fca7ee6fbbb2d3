"""Random data for the properties, small objectives, and the RCGP written out in NumPy exactly as the paper's formulas read."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from gpytorch.kernels import RBFKernel
from hypothesis import strategies as st

from rcgp import Optimizer, PlateauIMQ, RobustGP
from rcgp.gaussian import Array, GaussianPosterior


@dataclass(frozen=True)
class RandomProblem:
    """Inputs, outcomes, test points and hyper-parameters; the first `lies` rows are to be corrupted."""

    X: np.ndarray
    y: np.ndarray
    tests: np.ndarray
    lengthscale: float
    noise: float
    decay: float
    lies: int

    def kernel(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        squared = ((left[:, None, :] - right[None, :, :]) ** 2).sum(-1)
        return np.exp(-0.5 * squared / self.lengthscale**2)

    def wide(self) -> float:
        """A width that leaves every outcome on the plateau."""
        return float(np.abs(self.y).max()) + 1.0

    def corrupted(self, value: float) -> np.ndarray:
        y = self.y.copy()
        y[: self.lies] = value
        return y

    def model(self, y: np.ndarray, width: float) -> RobustGP:
        kernel = RBFKernel().double()
        kernel.lengthscale = torch.tensor(self.lengthscale, dtype=torch.float64)
        tensors = torch.from_numpy(self.X), torch.from_numpy(y)[:, None]
        weight = PlateauIMQ(width, self.decay)
        return RobustGP(*tensors, weight=weight, center=0.0, noise=self.noise, covar_module=kernel)


def predict(model: RobustGP, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with torch.no_grad():
        posterior = model.posterior(torch.from_numpy(points))
    return posterior.mean.squeeze(-1).numpy(), posterior.variance.squeeze(-1).numpy()


def gaussian_process(
    problem: RandomProblem, X: np.ndarray, y: np.ndarray, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The standard GP: mean (`m`) and covariance (`m x m`)."""
    A = problem.kernel(X, X) + problem.noise * np.eye(len(X))
    k = problem.kernel(X, points)
    return k.T @ np.linalg.solve(A, y), problem.kernel(points, points) - k.T @ np.linalg.solve(A, k)


def weights(problem: RandomProblem, y: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """The paper's J_w (diagonal) and m_w, from w itself."""
    r, sigma2, c = y, problem.noise, problem.decay
    excess = np.maximum(np.abs(r) - width, 0.0)
    w = np.sqrt(sigma2 / 2.0) * (1.0 + excess**2 / c**2) ** -0.5
    gradient = -np.sqrt(sigma2 / 2.0) * excess / c**2 * (1.0 + excess**2 / c**2) ** -1.5 * np.sign(r)
    return sigma2 / (2.0 * w**2), 2.0 * sigma2 * gradient / w


@st.composite
def random_problems(draw: st.DrawFn, *, lies: int = 0) -> RandomProblem:
    dim, seed = draw(st.integers(1, 4)), draw(st.integers(0, 2**32 - 1))
    n = draw(st.integers(max(3, lies + 2), 14))
    rng = np.random.default_rng(seed)
    return RandomProblem(
        X=rng.random((n, dim)),
        y=rng.standard_normal(n),
        tests=rng.random((5, dim)),
        lengthscale=draw(st.floats(0.1, 2.0)),
        noise=draw(st.floats(1e-3, 1.0)),
        decay=draw(st.floats(0.1, 3.0)),
        lies=lies,
    )


def random_posterior(
    dim: int, seed: int, n: int = 30, kernel: str = "rbf", covariance_scale: float = 1.0
) -> GaussianPosterior:
    rng = np.random.default_rng(seed)
    lengthscale = 0.4 * np.sqrt(dim) * rng.uniform(0.5, 2.0, dim)
    X, targets, noises = rng.random((n, dim)), rng.standard_normal(n), np.full(n, 0.01)
    posterior = GaussianPosterior.condition(X, targets, noises, lengthscale, kernel, 0.01)
    return replace(posterior, covariance_scale=covariance_scale)


def peak(x: Array) -> float:
    """A smooth hill with its top at 0.7 in every coordinate."""
    return float(np.exp(-8.0 * np.sum((x - 0.7) ** 2)))


def smooth(n: int = 30, seed: int = 0) -> tuple[Array, Array]:
    """Reports of a smooth function of one parameter, with a little noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 1))
    return X, np.sin(6 * X[:, 0]) + 0.05 * rng.standard_normal(n)


def run(optimizer: Optimizer, trials: int, objective: Callable[[Array], float] = peak) -> Array:
    """Ask and tell so many times; the points (`trials x d`)."""
    points = []
    for _ in range(trials):
        points.append(optimizer.ask())
        optimizer.tell(points[-1], objective(points[-1]))
    return np.array(points)
