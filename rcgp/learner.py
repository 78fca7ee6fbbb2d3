"""What was told of a search, and what is known by it: the half of an optimizer that learns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any

import numpy as np

from rcgp.answer import Answer, Recommendation
from rcgp.bend import Bend
from rcgp.bounded import BoundedSurrogate
from rcgp.curves.learning_curves import Curve, Curves, chance_above
from rcgp.evidence import Evidence, Ruling
from rcgp.feasibility import Regions
from rcgp.gaussian import Array, GaussianPosterior, Mask
from rcgp.lies.challenge import is_due
from rcgp.lies.claims import Claims, Judge, without_condemned
from rcgp.lies.repeated import repeated_in_words
from rcgp.looks import Looks
from rcgp.points import checked_points
from rcgp.state import Scaling, SurrogateState, from_json_numbers, to_json_numbers
from rcgp.threads import one_blas_thread
from rcgp.views import Posterior, Suspect
from rcgp.weights import SUSPECT_WEIGHT

INFLATION_BY_RULING: dict[str | None, float] = {"lie": np.inf, "true": 1.0, None: 2.0 / SUSPECT_WEIGHT}
"""The noise inflation of a row that was just ruled on. One whose ruling was taken back is a suspect until the others are asked:
trusted, a lie of a million would set the scale that it is measured by."""


class Learner:
    """Learns from what comes back (`tell`) and from what people say of it (`rule`).

    How far a row is trusted depends on what was known before it came, so there is a *committed* state, on which the next one
    builds. `update` commits the state of all rows told. `suspects`, `weights`, `posterior` and `recommend` only look: they show
    the state that would be committed now, and change nothing.
    """

    def __init__(
        self,
        algorithm: str,
        dim: int,
        *,
        seed: int,
        n_initial: int,
        surrogate: BoundedSurrogate | None,
        regions: bool,
        verify: bool,
    ) -> None:
        self.algorithm, self.dim, self.seed, self.n_initial = algorithm, dim, seed, n_initial
        self._surrogate, self._regions = surrogate, Regions(regions)
        self._judge = Judge(verify=verify, compare=surrogate is not None and surrogate.surrogate.compare_reporters)
        self._X, self._y = np.empty((0, dim)), np.empty(0)
        self._evidence, self._reporters = Evidence.none(0), list[str]()
        self._ruled, self.failures = False, 0  # ruled since the committed state
        self._curves = Curves(None if surrogate is None else surrogate.surrogate)
        self._committed: SurrogateState | None = None
        self._seen: SurrogateState | None = None
        self._answered: tuple[SurrogateState, Answer] | None = None
        self._committed_bend = self._bend = Bend()  # of the values behind the committed state, and behind the seen one

    @property
    def n(self) -> int:
        """Number of observations told."""
        return len(self._y)

    def tell(
        self,
        x: Array,
        y: float,
        *,
        resource: float = 1.0,
        curve: Sequence[tuple[float, float]] = (),
        standard_error: float | None = None,
        reporter: str | None = None,
    ) -> None:
        """Learn that `y` (any float; infinite and NaN are rows without influence) was reported at `x` (`d`).

        `resource` is the share of the full budget it was reported at, `curve` what the trial reported before: pairs of share and
        value. `standard_error` is that of a report which has one of its own, a mean over folds, say; `reporter` is who made it.
        """
        point = checked_points(np.asarray(x, dtype=float)[None], self.dim, "x")
        error = 0.0 if standard_error is None else float(standard_error)
        if not 0.0 <= error < np.inf:
            raise ValueError(f"standard_error must be a finite number of at least 0, got {standard_error!r}.")
        self._curves.append(float(y), resource, curve)
        self._X, self._y = np.concatenate([self._X, point]), np.append(self._y, float(y))
        self._evidence = self._evidence.with_row(error, self._number_of(reporter))

    def rule(self, index: int, ruling: Ruling | None) -> None:
        """Obey a person: observation `index` is a "lie", or "true", whatever the model thinks; None takes the ruling back."""
        if not 0 <= index < self.n:
            raise ValueError(f"There is no observation {index} to rule on: {self.n} were told.")
        if ruling == "true" and not np.isfinite(self._y[index]):
            raise ValueError(f"Observation {index} reported {self._y[index]}, which cannot be true: rule it a lie.")
        self._evidence, self._ruled = self._evidence.with_ruling(index, ruling), True
        self._seen = None
        if self._committed is not None and index < self._committed.n and np.isfinite(self._y[index]):
            self._committed = self._committed.with_trust(index, INFLATION_BY_RULING[ruling])

    def _number_of(self, reporter: str | None) -> int:
        if reporter is None:
            return -1
        if reporter not in self._reporters:
            self._reporters.append(reporter)
        return self._reporters.index(reporter)

    @one_blas_thread
    def update(self) -> None:
        """Commit the state of all rows told since the last time, with a fit where one is due. `ask` does this first, unless
        its point fills space: then nothing is committed here either, so that a search lived through again is the same."""
        if not self._regions.fill_space(self._useful):
            self._commit()

    def _commit(self) -> SurrogateState | None:
        self._committed, self._ruled = self._look(), False
        self._committed_bend = self._bend
        self._curves.commit()
        return self._committed

    def _look(self) -> SurrogateState | None:
        """The state of all rows told (None before there is any), from the committed one; computed once."""
        if self._surrogate is None or self.n < max(1, self.n_initial):
            return self._committed
        if self._seen is None or self._seen.n < self.n:
            ends, evidence = self._curves.look(self._X, self._y, self._known)
            self._bend = self._bend_of(ends, evidence)
            y, evidence = self._bend.bent(ends), replace(evidence, error=self._bend.step(ends, evidence.error))
            before = without_condemned(self._known_before(y), evidence)
            self._seen = self._surrogate.update(self._X, y, before, evidence)
        return self._seen

    def _bend_of(self, ends: Array, evidence: Evidence) -> Bend:
        """How the values (`n`) are bent, which is how little the worst of them matter; asked anew from time to time."""
        if self._surrogate is None or not self._surrogate.surrogate.bend:
            return Bend()
        if self._committed is not None and not is_due(self.n, self._committed.n):
            return self._committed_bend
        trusted = np.ones(self.n, dtype=bool)
        if self._committed is not None:
            trusted = np.append(self._committed.trusted, np.zeros(self.n - self._committed.n, dtype=bool))
        y = np.where(evidence.condemned, np.nan, ends)
        return Bend.of(self._X, y, trusted, self.n_initial, self._surrogate.kernel)

    def _known_before(self, y: Array) -> SurrogateState | None:
        """The committed state, on which the next builds, for values (`n`) that may be bent otherwise since then."""
        if self._committed is None:
            return None
        if self._bend != self._committed_bend:
            return self._committed.rescaled(y[: self._committed.n])
        return self._committed if self._curves.plain else self._committed.afresh()

    @one_blas_thread
    def weights(self) -> Array:
        """u^2 in [0, 1] of every observation, shape `n`: 1 is full trust, below `SUSPECT_WEIGHT` is a suspect."""
        return self._weights_by(self._look())

    def committed_weights(self) -> Array:
        """The weights (`n`) as they were at the last `ask` or `update`, for nothing; rows told since then count as trusted."""
        return self._weights_by(self._committed)

    def _weights_by(self, state: SurrogateState | None) -> Array:
        known = np.empty(0) if state is None else np.minimum(state.weights, self._curves.support[: state.n])
        return np.append(known, np.ones(self.n - len(known)))

    @one_blas_thread
    def suspects(self) -> list[Suspect]:
        """The observations whose weight is below `SUSPECT_WEIGHT`, least trusted first."""
        state = self._look()
        if state is None:
            return []
        expected, weights = self._expected_reports(state), self._weights_by(state)
        rows = [index for index in np.argsort(weights, kind="stable") if weights[index] < SUSPECT_WEIGHT]
        with np.errstate(over="ignore", invalid="ignore"):
            off = self._y - expected
        return [Suspect(int(i), float(weights[i]), float(off[i]), float(expected[i]), self._reason(i)) for i in rows]

    def _reason(self, row: int) -> str:
        """Why a suspect is not to be believed, where there is more to say than that the others expect something else."""
        return self._claims.reason(row) or repeated_in_words(self._X, self._y, row)

    @one_blas_thread
    def expected(self) -> Array:
        """What the other observations let one expect at each of them, shape `n`, in units of `y`; NaN before there is a model."""
        state = self._look()
        return np.full(self.n, np.nan) if state is None else self._expected_reports(state)

    def _expected_reports(self, state: SurrogateState) -> Array:
        """What the other observations let one expect of each report (`n`), with as much of its budget spent."""
        expected = self._bend.straightened(state.scaling.to_units(self._expected(state)[0]))
        return expected - self._curves.lead(self._y)

    def remarks(self) -> dict[int, str]:
        """What the curves say of the observations, in words, by index; most have nothing to say."""
        return self._curves.remarks()

    @one_blas_thread
    def posterior(self, X: Array) -> Posterior:
        """What is known of the objective at `X` (`m x d`), in its own units."""
        points, state = checked_points(X, self.dim, "X"), self._look()
        if state is None:
            centre = float(Scaling.of(self._y[np.isfinite(self._y)]).to_units(np.zeros(1))[0])
            return Posterior(np.full(len(points), centre), np.full(len(points), np.inf))
        mean, variance = self._posterior_of(state).mean_and_variance(points)
        return self._in_units(state, mean, np.sqrt(variance))

    def _in_units(self, state: SurrogateState, mean: Array, deviation: Array) -> Posterior:
        """What the model says, scaled (`m` each), in the units of the objective."""
        straight = self._bend.straightened(state.scaling.to_units(mean))
        return Posterior(straight, deviation * state.scaling.deviation / self._bend.slope(straight))

    @one_blas_thread
    def recommend(self) -> int:
        """Index of the observation with the highest posterior mean: the best point, not the luckiest lie."""
        answer = self._answer()
        return self._highest_report() if answer is None else answer.index

    @one_blas_thread
    def recommendation(self) -> Recommendation:
        """What `recommend` hands over, what is believed of it, how many reports support that, and how probably it is the best."""
        answer, state = self._answer(), self._look()
        if answer is None or state is None:
            row = self._highest_report()
            return Recommendation(row, float(self._y[row]), math.inf, 1, math.nan)
        found = answer.recommendation()
        units = self._in_units(state, np.array([found.mean]), np.array([found.std]))
        return replace(found, mean=float(units.mean[0]), std=float(units.std[0]))

    @one_blas_thread
    def to_confirm(self, candidates: int = 3, pending: Array | None = None, *, once: bool = False) -> int | None:
        """Index of the observation whose repetition serves the answer most, knowing that `pending` (`m x d`) are being tried.

        First what would be handed over, until it was run twice, and with `once` no other; then those whose report decides
        that; else the least repeated of the best `candidates`. None before there is a model, and where there is none to repeat.
        """
        waiting = checked_points(pending, self.dim, "pending")
        if candidates < 1:
            raise ValueError(f"candidates must be at least 1, got {candidates}.")
        answer = self._answer() if self.n else None
        if answer is None:
            return None
        looks = Looks(answer, waiting)
        return looks.run_once() if once else looks.to_confirm(candidates)

    def _answer(self) -> Answer | None:
        """What can be said of the answer; None before there is a model."""
        if self.n == 0:
            raise ValueError("Nothing was told yet: a recommendation needs at least one observation.")
        state = self._look()
        if state is None:
            return None
        if self._answered is None or self._answered[0] is not state:  # which every row and ruling replaces
            self._answered = state, self._answer_by(state)
        return self._answered[1]

    def _answer_by(self, state: SurrogateState) -> Answer:
        posterior = self._posterior_of(state)
        out = self._claims.added_to(self._evidence).condemned
        z = state.scaling.to_scaled(np.where(out, np.nan, self._ends))
        useless = out | (self._regions.learned & ~self._useful)
        telling = self._judge.verify & (self._bend.slope(self._ends) == 1.0)
        return Answer.of(self._X, z, state, posterior, self._expected(state), useless, telling)

    def _highest_report(self) -> int:
        return int(np.argmax(np.where(self._useful, self._y, -np.inf)))

    @property
    def _useful(self) -> Mask:
        """Which rows (`n`, boolean) gave a number to learn from."""
        return np.isfinite(self._y) & ~self._claims.useless(self._y)

    @property
    def _known(self) -> Evidence:
        """What is known beside the values, with what repeats, the scale of all others and rounding say of them."""
        return self._claims.added_to(self._evidence).rounded_as(self._y)

    @property
    def _claims(self) -> Claims:
        """What repeats and the scale of all others say of the reports."""
        return self._judge(self._X, self._y, self._evidence)

    @one_blas_thread
    def promise(self, x: Array, points: Sequence[tuple[float, float]]) -> float:
        """The probability that a trial on its way at `x` (`d`), with these `points` (share of the budget, value), ends best.

        1 before there is a model; 0 of algorithms that have none, and promise nothing.
        """
        if self._surrogate is None:
            return 0.0
        place, state = checked_points(np.asarray(x, dtype=float)[None], self.dim, "x"), self._look()
        if state is None:
            return 1.0
        best = self._posterior_of(state).mean(self._X[[self.recommend()]])
        end = self._curves.end_of(self._X, self._y, place[0], Curve.of(points))
        ends, deviations = np.array(end[:1]), np.array(end[1:])
        bent, deviation = (float(value[0]) for value in (self._bend.bent(ends), self._bend.step(ends, deviations)))
        return chance_above(float(best[0]), self._posterior_of(state), state.scaling, place, bent, deviation)

    def state_dict(self) -> dict[str, Any]:
        """Everything `ask` depends on besides the constructor's arguments, as data that strict JSON can hold."""
        return {
            "algorithm": self.algorithm,
            "dim": self.dim,
            "seed": self.seed,
            "X": self._X.tolist(),
            "y": to_json_numbers(self._y),
            "evidence": self._evidence.to_data() | {"reporters": list(self._reporters)},
            "ruled": self._ruled,
            "curves": self._curves.state_dict(),
            "surrogate_state": None if self._committed is None else self._committed.to_data(),
            "bend": None if self._committed_bend.is_straight else list(astuple(self._committed_bend)),
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
        evidence, n = state.get("evidence"), len(self._y)
        self._evidence = Evidence.none(n) if evidence is None else Evidence.from_data(evidence)
        self._reporters, self._ruled = list(evidence["reporters"]) if evidence else [], state.get("ruled", False)
        self._committed = None if committed is None else SurrogateState.from_data(committed)
        self._seen = None if self._ruled else self._committed
        self._committed_bend = self._bend = Bend(*(state.get("bend") or ()))
        self._curves.load_state_dict(state.get("curves"), self._y)
        self.failures = state["failures"]

    @property
    def _ends(self) -> Array:
        """Where every trial ends (`n`), bent: what it reported, or what it would have at the full budget."""
        return self._bend.bent(self._curves.ends(self._y))

    def _posterior_of(self, state: SurrogateState) -> GaussianPosterior:
        assert self._surrogate is not None
        return state.posterior(self._X[: state.n], self._ends[: state.n], self._surrogate.kernel)

    def _expected(self, state: SurrogateState) -> tuple[Array, Array]:
        """What the model expects at every observation without it: mean and deviation (`n` each), in scaled units."""
        return state.expected(self._X, self._ends, self._posterior_of(state))
