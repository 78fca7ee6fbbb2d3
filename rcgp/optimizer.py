"""Ask and tell: one optimizer for every algorithm, deterministic under its seed and restorable from plain data."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from rcgp.acquisition import Acquisition, Maximizer, Projection, taken
from rcgp.bounded import BoundedSurrogate
from rcgp.confidence import Schedule
from rcgp.gaussian import Array, GaussianPosterior, NotPositiveDefiniteError, leave_one_out
from rcgp.state import Scaling, SurrogateState, from_json_numbers, to_json_numbers
from rcgp.threads import one_blas_thread
from rcgp.weights import SUSPECT_WEIGHT

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Suspect:
    """An observation whose weight is below `SUSPECT_WEIGHT`, what was expected there, and by how much it differs."""

    index: int
    weight: float
    residual: float
    expected: float


@dataclass(frozen=True)
class Posterior:
    """Mean and standard deviation of the objective, both of shape `m`, in its own units."""

    mean: Array
    std: Array


class Optimizer:
    """Suggests points of the unit cube (`ask`) and learns from what came back (`tell`).

    How far a row is trusted depends on what was known before it came, so there is a *committed* state, on which the next one
    builds. `ask` and `update` commit the state of all rows told; asking twice gives one answer. `suspects`, `weights`,
    `posterior` and `recommend` only look: they show the state that would be committed now, and change nothing.
    """

    def __init__(
        self,
        algorithm: str,
        dim: int,
        *,
        seed: int,
        n_initial: int,
        surrogate: BoundedSurrogate | None,
        acquisition: Callable[[GaussianPosterior, float], Acquisition],
        schedule: Schedule,
        corruptions: int | None,
        project: Projection | None,
        avoid_repeats: bool,
        recheck: bool,
    ) -> None:
        self.algorithm, self.dim, self.seed, self.n_initial = algorithm, dim, seed, n_initial
        self._surrogate, self._acquisition = surrogate, acquisition
        self._schedule, self._corruptions = schedule, corruptions
        self._project, self._avoid_repeats, self._recheck = project, avoid_repeats, recheck
        self._maximizer = Maximizer(dim, seed)
        self._X, self._y = np.empty((0, dim)), np.empty(0)
        self._committed: SurrogateState | None = None
        self._seen: SurrogateState | None = None
        self.failures = 0

    @property
    def n(self) -> int:
        """Number of observations told."""
        return len(self._y)

    @one_blas_thread
    def ask(self, pending: Array | None = None) -> Array:
        """The next point to try, shape `d`, knowing that `pending` (`m x d`) are being tried."""
        waiting = self._check_points(pending, "pending")
        issued = self.n + len(waiting)
        if self.n < self.n_initial or self._surrogate is None:  # the first results may still be in flight
            return self._quasi_random(issued, waiting)
        try:
            state = self._commit()
            assert state is not None
            again = self._second_look(state, waiting) if self._recheck else None
            return self._maximize(state, waiting) if again is None else again
        except NotPositiveDefiniteError as error:
            self.failures += 1
            log.warning("No suggestion from the model (%s): a quasi-random point instead.", error)
            return self._quasi_random(issued, waiting)

    def tell(self, x: Array, y: float) -> None:
        """Learn that `y` (any float; infinite and NaN are rows without influence) was reported at `x` (`d`)."""
        point = self._check_points(np.asarray(x, dtype=float)[None], "x")
        self._X, self._y = np.concatenate([self._X, point]), np.append(self._y, float(y))

    @one_blas_thread
    def update(self) -> None:
        """Commit the state of all rows told since the last time, with a fit where one is due. `ask` does this first."""
        self._commit()

    def _commit(self) -> SurrogateState | None:
        self._committed = self._look()
        return self._committed

    def _look(self) -> SurrogateState | None:
        """The state of all rows told (None before there is any), from the committed one; computed once."""
        if self._surrogate is None or self.n < max(1, self.n_initial):
            return self._committed
        if self._seen is None or self._seen.n < self.n:
            self._seen = self._surrogate.update(self._X, self._y, self._committed)
        return self._seen

    @one_blas_thread
    def weights(self) -> Array:
        """u^2 in [0, 1] of every observation, shape `n`: 1 is full trust, below `SUSPECT_WEIGHT` is a suspect."""
        return self._weights_by(self._look())

    def committed_weights(self) -> Array:
        """The weights (`n`) as they were at the last `ask` or `update`, for nothing; rows told since then count as trusted."""
        return self._weights_by(self._committed)

    def _weights_by(self, state: SurrogateState | None) -> Array:
        known = np.empty(0) if state is None else state.weights
        return np.append(known, np.ones(self.n - len(known)))

    @one_blas_thread
    def suspects(self) -> list[Suspect]:
        """The observations whose weight is below `SUSPECT_WEIGHT`, least trusted first."""
        state = self._look()
        if state is None:
            return []
        expected, weights = state.scaling.to_units(self._expected(state)[0]), state.weights
        rows = [index for index in np.argsort(weights, kind="stable") if weights[index] < SUSPECT_WEIGHT]
        return [Suspect(int(i), float(weights[i]), float(self._y[i] - expected[i]), float(expected[i])) for i in rows]

    @one_blas_thread
    def posterior(self, X: Array) -> Posterior:
        """What is known of the objective at `X` (`m x d`), in its own units."""
        points, state = self._check_points(X, "X"), self._look()
        if state is None:
            centre = float(Scaling.of(self._y[np.isfinite(self._y)]).to_units(np.zeros(1))[0])
            return Posterior(np.full(len(points), centre), np.full(len(points), np.inf))
        mean, variance = self._posterior_of(state).mean_and_variance(points)
        return Posterior(state.scaling.to_units(mean), np.sqrt(variance) * state.scaling.spread * state.scaling.unit)

    @one_blas_thread
    def recommend(self) -> int:
        """Index of the observation with the highest posterior mean: the best point, not the luckiest lie."""
        if self.n == 0:
            raise ValueError("Nothing was told yet: recommend() needs at least one observation.")
        state = self._look()
        if state is None:
            return int(np.argmax(np.where(np.isfinite(self._y), self._y, -np.inf)))
        # a believed lie is alone with its claim: no more counts than the other rows could support (two deviations)
        without, deviation = self._expected(state)
        return int(np.argmax(np.minimum(self._posterior_of(state).mean(self._X), without + 2.0 * deviation)))

    def state_dict(self) -> dict[str, Any]:
        """Everything `ask` depends on besides the constructor's arguments, as data that strict JSON can hold."""
        return {
            "algorithm": self.algorithm,
            "dim": self.dim,
            "seed": self.seed,
            "X": self._X.tolist(),
            "y": to_json_numbers(self._y),
            "surrogate_state": None if self._committed is None else self._committed.to_data(),
            "failures": self.failures,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Become what `state_dict` described; refuses the state of another algorithm, dimension or seed."""
        for name in ("algorithm", "dim", "seed"):
            if state[name] != getattr(self, name):
                raise ValueError(
                    f"This optimizer has {name}={getattr(self, name)!r}, the state {name}={state[name]!r}."
                )
        # "judgement" is what it was called once: there are old states on people's disks
        committed = state["surrogate_state"] if "surrogate_state" in state else state["judgement"]
        self._X = np.array(state["X"], dtype=float).reshape(-1, self.dim)
        self._y = from_json_numbers(state["y"])
        self._committed = self._seen = None if committed is None else SurrogateState.from_data(committed)
        self.failures = state["failures"]

    def _posterior_of(self, state: SurrogateState) -> GaussianPosterior:
        assert self._surrogate is not None
        return state.posterior(self._X[: state.n], self._y[: state.n], self._surrogate.kernel)

    def _expected(self, state: SurrogateState) -> tuple[Array, Array]:
        """What the model expects at every observation without it: mean and deviation (`n` each), in scaled units."""
        posterior, kept = self._posterior_of(state), state.kept
        mean, variance = posterior.mean_and_variance(self._X)
        residual, variance[kept] = leave_one_out(posterior, state.target_shift[kept])
        mean[kept] = state.scaling.to_scaled(self._y[kept]) - residual
        return mean, np.sqrt(variance)

    def _maximize(self, state: SurrogateState, waiting: Array) -> Array:
        posterior = self._posterior_of(state)
        return self._maximizer.maximize(
            self._acquisition(posterior.with_pending(waiting), self._multiplier(state)),
            np.random.default_rng([self.seed, 2, self.n, len(waiting)]),
            project=self._project,
            forbidden=np.concatenate([self._X, waiting]) if self._avoid_repeats else None,
            pending=waiting,
        )

    def _second_look(self, state: SurrogateState, waiting: Array) -> Array | None:
        """The place (`d`) of a suspect that is worth asking again, if there is one.

        It matters: its report would make it the best point, yet is no further above the trusted ones than they reach down.
        And nothing contradicted it: no later report from the same place is trusted, and none is on its way.
        """
        trusted = state.trusted & np.isfinite(self._y)
        if not trusted.any():
            return None
        low, high = np.min(self._y[trusted]), np.max(self._y[trusted])
        for row in np.flatnonzero(~trusted & (self._y > high) & (self._y <= 2.0 * high - low)):
            later = self._X[row + 1 :][trusted[row + 1 :]]
            if not taken(self._X[[row]], np.concatenate([later, waiting]))[0]:
                place: Array = self._X[row]
                return place
        return None

    def _multiplier(self, state: SurrogateState) -> float:
        corruptions = int((~state.trusted).sum()) if self._corruptions is None else self._corruptions
        return self._schedule(self.n, dim=self.dim, corruptions=corruptions, sigma2=state.hyper.noise, decay=1.0)

    def _quasi_random(self, index: int, waiting: Array) -> Array:
        """Point number `index` of the seed's scrambled Sobol sequence; moved on while it repeats a known one."""
        sobol = qmc.Sobol(self.dim, scramble=True, rng=np.random.default_rng([self.seed, 0]))
        points = sobol.random(1 << max(4, index.bit_length() + 1))[index:]
        if self._project is not None:
            points = self._project(points)
        if self._avoid_repeats:
            known = {row.tobytes() for row in np.concatenate([self._X, waiting]) + 0.0}
            points = np.array([row for row in points + 0.0 if row.tobytes() not in known] or points)
        point: Array = points[0]
        return point

    def _check_points(self, points: Array | None, name: str) -> Array:
        if points is None:
            return np.empty((0, self.dim))
        array = np.asarray(points, dtype=float)
        if array.size == 0:
            return np.empty((0, self.dim))
        if array.ndim != 2 or array.shape[1] != self.dim:
            raise ValueError(f"{name} must have shape m x {self.dim}, got {' x '.join(map(str, array.shape))}.")
        outside = ~((array >= 0.0) & (array <= 1.0))
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise ValueError(f"{name}[{row}, {column}] = {array[row, column]} lies outside the unit cube [0, 1].")
        return array
