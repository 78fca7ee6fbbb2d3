"""Ask and tell: one optimizer for every algorithm, deterministic under its seed and restorable from plain data."""

from __future__ import annotations

import difflib
import inspect
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.stats import qmc

from rcgp.acquisition import Maximizer, Projection, taken
from rcgp.confidence import make_schedule
from rcgp.gaussian import Array, Belief, Mask, NotPositiveDefiniteError, leave_one_out
from rcgp.judgement import SUSPECT_FACTOR, Judgement, Scaling
from rcgp.robust import AdaptiveSurrogate, FixedCenterSurrogate
from rcgp.surrogates import DiagnosticsSurrogate, GaussianSurrogate, StudentTSurrogate, Surrogate
from rcgp.threads import one_blas_thread

log = logging.getLogger(__name__)

SURROGATES: dict[str, type[Surrogate] | None] = {
    "gp-ucb": GaussianSurrogate,
    "student-t-ucb": StudentTSurrogate,
    "diagnostics-gp": DiagnosticsSurrogate,
    "fc-rcgp-ucb": FixedCenterSurrogate,
    "a2-rcgp-ucb": AdaptiveSurrogate,
    "random": None,
}
ALGORITHMS = tuple(SURROGATES)


@dataclass(frozen=True)
class Suspect:
    """An observation that is not fully believed: its weight in [0, 1), what was expected there, and by how much it differs."""

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

    `ask` is a pure function of what was told and of what is pending: it changes nothing, so asking twice gives one answer.
    """

    def __init__(
        self,
        algorithm: str,
        dim: int,
        *,
        seed: int,
        n_initial: int,
        surrogate: Surrogate | None,
        schedule: str,
        scale: float | None,
        horizon: int | None,
        corruptions: int | str,
        project: Projection | None,
        avoid_repeats: bool,
        max_rows: int,
        recheck: bool,
    ) -> None:
        self.algorithm, self.dim, self.seed, self.n_initial = algorithm, dim, seed, n_initial
        self._surrogate, self._corruptions = surrogate, corruptions
        self._schedule = make_schedule(schedule, horizon=horizon, scale=scale)
        self._project, self._avoid_repeats, self._max_rows = project, avoid_repeats, max_rows
        self._recheck = recheck
        self._maximizer = Maximizer(dim, seed)
        self._X, self._y = np.empty((0, dim)), np.empty(0)
        self._judgement: Judgement | None = None
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
            self.update()
            doubtful = self._second_look(waiting) if self._recheck else None
            return self._maximize(waiting) if doubtful is None else doubtful
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
        """Absorb what was told since the last update: judge every row and refit where due. `ask` does this first."""
        if self._surrogate is None or self.n < max(1, self.n_initial):
            return
        while (judged := self._judged) < self.n:
            # many rows told at once are taken in pieces, so that no step is larger than the model may be
            self._absorb(
                self.n if self.n <= self._max_rows else min(self.n, max(judged, self._max_rows // 2) + self._piece)
            )

    @property
    def _judged(self) -> int:
        return 0 if self._judgement is None else len(self._judgement.factor)

    @property
    def _piece(self) -> int:
        return self._max_rows // 4

    def _absorb(self, n: int) -> None:
        """Judge the first `n` rows, knowing the judgement of fewer."""
        assert self._surrogate is not None
        X, y, before = self._X[:n], self._y[:n], self._judgement
        rows = self._active_rows(n)
        if rows is None:
            self._judgement = self._surrogate.judge(X, y, before)
        else:
            known = None if before is None else before.restricted(rows[: self._judged])
            self._judgement = self._surrogate.judge(X[rows], y[rows], known).spread_over(rows, before)

    def _active_rows(self, n: int) -> Mask | None:
        """Which of the first `n` rows (boolean) the model is built on: all (None) up to `max_rows`, then so many of them.

        A quarter are the best that are believed, a quarter (and all not yet judged) the latest, the rest evenly spread.
        """
        if n <= self._max_rows:
            return None
        y, rows = self._y[:n], np.zeros(n, dtype=bool)
        rows[min(self._judged, n - self._piece) :] = True
        believed = np.where(np.isfinite(y) & (self.weights()[:n] > 1.0 / SUSPECT_FACTOR) & ~rows, y, -np.inf)
        rows[np.argsort(-believed, kind="stable")[: self._piece]] = True
        others = np.flatnonzero(~rows)
        count = max(0, min(len(others), self._max_rows - int(rows.sum())))
        rows[others[np.linspace(0, len(others) - 1, count).astype(int)]] = True
        return rows

    def weights(self) -> Array:
        """u^2 in [0, 1] of every observation, shape `n`; 1 is full trust. Not yet judged rows count as trusted."""
        weights = np.ones(self.n)
        if self._judgement is not None:
            known = self._judgement.weights
            weights[: len(known)] = known
        return weights

    @one_blas_thread
    def suspects(self) -> list[Suspect]:
        """The observations whose weight fell below 1, least believed first."""
        self.update()
        if self._judgement is None:
            return []
        expected, weights = self._judgement.scaling.to_units(self._expected()[0]), self._judgement.weights
        rows = [index for index in np.argsort(weights, kind="stable") if weights[index] < 1.0]
        return [Suspect(int(i), float(weights[i]), float(self._y[i] - expected[i]), float(expected[i])) for i in rows]

    @one_blas_thread
    def posterior(self, X: Array) -> Posterior:
        """What is believed of the objective at `X` (`m x d`), in its own units."""
        points = self._check_points(X, "X")
        self.update()
        if self._judgement is None:
            scaling = Scaling.of(self._y[np.isfinite(self._y)])
            return Posterior(
                np.full(len(points), float(scaling.to_units(np.zeros(1))[0])), np.full(len(points), np.inf)
            )
        mean, variance = self._current_belief().mean_and_variance(points)
        scaling = self._judgement.scaling
        return Posterior(scaling.to_units(mean), np.sqrt(variance) * scaling.spread * scaling.unit)

    @one_blas_thread
    def recommend(self) -> int:
        """Index of the observation with the highest believed value: the best point, not the luckiest lie."""
        if self.n == 0:
            raise ValueError("Nothing was told yet: recommend() needs at least one observation.")
        self.update()
        if self._judgement is None:
            return int(np.argmax(np.where(np.isfinite(self._y), self._y, -np.inf)))
        # a believed lie is alone with its claim: no more counts than the other rows could support (two deviations)
        without, deviation = self._expected()
        return int(np.argmax(np.minimum(self._current_belief().mean(self._X), without + 2.0 * deviation)))

    def state_dict(self) -> dict[str, Any]:
        """Everything `ask` depends on besides the constructor's arguments, as data that strict JSON can hold."""
        return {
            "algorithm": self.algorithm,
            "dim": self.dim,
            "seed": self.seed,
            "X": self._X.tolist(),
            "y": [value if math.isfinite(value) else str(value) for value in self._y.tolist()],
            "judgement": None if self._judgement is None else self._judgement.to_data(),
            "failures": self.failures,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Become what `state_dict` described; refuses the state of another algorithm, dimension or seed."""
        for name in ("algorithm", "dim", "seed"):
            if state[name] != getattr(self, name):
                raise ValueError(
                    f"This optimizer has {name}={getattr(self, name)!r}, the state {name}={state[name]!r}."
                )
        self._X = np.array(state["X"], dtype=float).reshape(-1, self.dim)
        self._y = np.array([float(value) for value in state["y"]])
        self._judgement = None if state["judgement"] is None else Judgement.from_data(state["judgement"])
        self.failures = state["failures"]

    def _current_belief(self) -> Belief:
        assert self._judgement is not None
        assert self._surrogate is not None
        judged = len(self._judgement.factor)
        return self._judgement.belief(self._X[:judged], self._y[:judged], self._surrogate.kernel)

    def _expected(self) -> tuple[Array, Array]:
        """What the model expects at every observation without it: mean and deviation (`n` each), in scaled units."""
        assert self._judgement is not None
        belief, judgement = self._current_belief(), self._judgement
        mean, variance = belief.mean_and_variance(self._X)
        kept = judgement.kept
        residual, variance[kept] = leave_one_out(belief, judgement.shift[kept])
        mean[kept] = judgement.scaling.to_scaled(self._y[kept]) - residual
        return mean, np.sqrt(variance)

    def _maximize(self, waiting: Array) -> Array:
        belief = self._current_belief()
        rng = np.random.default_rng([self.seed, 2, self.n, len(waiting)])
        forbidden = np.concatenate([self._X, waiting]) if self._avoid_repeats else None
        return self._maximizer.maximize(
            belief.with_pending(waiting),
            self._multiplier(belief),
            rng,
            project=self._project,
            forbidden=forbidden,
            pending=waiting,
        )

    def _second_look(self, waiting: Array) -> Array | None:
        """The place (`d`) of a suspect that is worth asking again, if there is one.

        It matters: its report would make it the best point, yet is no further above the believed ones than they reach down.
        And nobody contradicted it: no later report from the same place is believed, and none is on its way.
        """
        trusted = (self.weights() > 1.0 / SUSPECT_FACTOR) & np.isfinite(self._y)
        if not trusted.any():
            return None
        low, high = np.min(self._y[trusted]), np.max(self._y[trusted])
        for row in np.flatnonzero(~trusted & (self._y > high) & (self._y <= 2.0 * high - low)):
            later = self._X[row + 1 :][trusted[row + 1 :]]
            if not taken(self._X[[row]], np.concatenate([later, waiting]))[0]:
                place: Array = self._X[row]
                return place
        return None

    def _multiplier(self, belief: Belief) -> float:
        estimated = int((self.weights() < 1.0 / SUSPECT_FACTOR).sum())
        corruptions = estimated if isinstance(self._corruptions, str) else self._corruptions
        return self._schedule(self.n, dim=self.dim, corruptions=corruptions, sigma2=belief.noise, decay=1.0)

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


def make_optimizer(
    name: str,
    dim: int,
    *,
    seed: int,
    n_initial: int,
    horizon: int | None = None,
    project: Projection | None = None,
    avoid_repeats: bool = False,
    schedule: str | None = None,
    scale: float | None = None,
    corruptions: int | str = "estimated",
    max_rows: int = 1500,
    recheck: bool = False,
    **options: Any,
) -> Optimizer:
    """The optimizer of that name on the unit cube of dimension `dim`.

    `n_initial` scrambled Sobol points come first. `horizon` is the number of trials, where known (the theory schedule needs it).
    `project` rounds points to those that can be tried; with `avoid_repeats` none is asked twice while others are left
    (but suspects with `recheck`).
    `schedule` is "practical" (default), "paper" or "theory"; `scale` its multiplier. `corruptions` is their assumed number in
    the theory schedule: "estimated" from the weights, or fixed. Past `max_rows` observations the model is built on that many of
    them, so that a suggestion's cost stays bounded. With `recheck` a suspect that would be the best point is asked again.
    Further options are those of the algorithm's surrogate.
    """
    if name not in SURROGATES:
        raise ValueError(
            f"Unknown algorithm {name!r}{_did_you_mean(name, ALGORITHMS)}: choose one of {', '.join(ALGORITHMS)}."
        )
    for argument, value, least in (
        ("dim", dim, 1),
        ("seed", seed, 0),
        ("n_initial", n_initial, 1),
        ("max_rows", max_rows, 20),
    ):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{argument} must be a whole number of at least {least}, got {value!r}.")
    if isinstance(corruptions, str) and corruptions != "estimated":
        raise ValueError(f"corruptions must be 'estimated' or a whole number, got {corruptions!r}.")
    if options.get("recipe") == "paper":  # the authors' own throughout
        schedule, options = schedule or "paper", {"kernel": "rbf", **options}
    return Optimizer(
        name,
        int(dim),
        seed=int(seed),
        n_initial=int(n_initial),
        surrogate=_make_surrogate(name, options),
        schedule=schedule or "practical",
        scale=scale,
        horizon=horizon,
        corruptions=corruptions,
        project=project,
        avoid_repeats=avoid_repeats,
        max_rows=max_rows,
        recheck=recheck,
    )


def _make_surrogate(name: str, options: Mapping[str, Any]) -> Surrogate | None:
    kind = SURROGATES[name]
    known = () if kind is None else tuple(field.name for field in fields(kind))
    general = tuple(p for p in inspect.signature(make_optimizer).parameters if p not in ("name", "dim", "options"))
    for option in options:
        if option not in known:
            allowed = ", ".join((*general, *known))
            raise ValueError(
                f"{name} has no option {option!r}{_did_you_mean(option, (*general, *known))}: choose from {allowed}."
            )
    return None if kind is None else kind(**options)


def _did_you_mean(word: str, allowed: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(word, allowed, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
