"""Ask and tell: one optimizer for every algorithm, deterministic under its seed and restorable from plain data."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

import numpy as np

from rcgp.acquisition import Acquisition, Looked, Maximizer, Neighbours, Projection
from rcgp.bounded import BoundedSurrogate
from rcgp.confidence import Schedule
from rcgp.gaussian import Array, GaussianPosterior, Mask, NotPositiveDefiniteError
from rcgp.learner import Learner
from rcgp.lies.claims import second_look
from rcgp.lies.rival import at_the_place_of, settled_since
from rcgp.looks import Looks
from rcgp.points import checked_points, quasi_random
from rcgp.state import SurrogateState
from rcgp.threads import one_blas_thread

log = logging.getLogger(__name__)

NUDGE = 1e-3
"""Where a point that is moved so far is rounded back to itself, nothing can be tried beside it."""


WIDER, WIDER_FROM = (4.0, 16.0, 64.0), 15
"""How much wider a search that has settled and looks again looks for another place, and from how many reports on. (Regret of the
answer in units of a random point's, six problems and six tuning seeds, without and with 4: 0.017 and 0.010 without lies, 0.018
and 0.010 under moderate ones, 0.147 and 0.073 in range.)"""


class Optimizer(Learner):
    """Suggests points of the unit cube (`ask`) and learns from what came back (`tell`: see `Learner`).

    Asking commits the state of all rows told, as `update` does; asking twice gives one answer.
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
        fill: int = 0,
        look_again: bool = False,
        regions: bool = False,
        verify: bool = False,
        neighbours: Neighbours | None = None,
    ) -> None:
        super().__init__(
            algorithm, dim, seed=seed, n_initial=n_initial, surrogate=surrogate, regions=regions, verify=verify
        )
        self._acquisition, self._schedule, self._corruptions = acquisition, schedule, corruptions
        self._project, self._neighbours, self._avoid_repeats = project, neighbours, avoid_repeats
        self._recheck, self._fill, self._look_again = recheck, fill, look_again
        self._maximizer = Maximizer(dim, seed)

    @one_blas_thread
    def ask(self, pending: Array | None = None) -> Array:
        """The next point to try, shape `d`, knowing that `pending` (`m x d`) are being tried."""
        return self._ask(checked_points(pending, self.dim, "pending"))[0]

    def _ask(self, waiting: Array) -> tuple[Array, Looked | None]:
        """The next point (`d`) and, where the model looked for it, at what."""
        early = self.n < self.n_initial or self._surrogate is None  # the first results may still be in flight
        if early or self._regions.fill_space(self._useful):
            return self._quasi_random(waiting), None
        try:
            state = self._commit()
            assert state is not None
            if self.n + len(waiting) < self._fill or self._is_level:  # though reports are judged already
                return self._quasi_random(waiting), None
            again = second_look(self._X, self._ends, state.trusted, waiting) if self._recheck else None
            again = self._unchecked(state, waiting) if again is None else again
            if again is not None:
                return again, None
            point, looked = self._or_a_rivals(state, waiting)
            return self._or_what_decides(point, waiting) if self._look_again else point, looked
        except NotPositiveDefiniteError as error:
            self.failures += 1
            log.warning("No suggestion from the model (%s): a quasi-random point instead.", error)
            return self._quasi_random(waiting), None

    @property
    def _is_level(self) -> bool:
        """Whether several reports are all the same: a bound that differs by what is unknown alone visits corner after corner."""
        said = self._y[self._useful]
        return len(said) > 1 and bool((said == said[0]).all())

    @one_blas_thread
    def ask_batch(self, m: int, pending: Array | None = None) -> Array:
        """`m` points to try at once, shape `m x d`: the first as `ask` gives it, the others from what it learnt on the way.

        The model is fitted and factorised once, and the candidates are looked at once: eight cost about two. As
        long as no point is the model's own choice, nothing can be shared.
        """
        if m < 1:
            raise ValueError(f"ask_batch needs m of at least 1, got {m}.")
        waiting = checked_points(pending, self.dim, "pending")
        first, looked = self._ask(waiting)
        batch, state = first[None], self._committed
        shortlist = None if looked is None else self._maximizer.shortlist(looked)
        while len(batch) < m:
            busy = np.concatenate([waiting, batch])
            if shortlist is None or state is None:
                further, looked = self._ask(busy)
                shortlist = None if looked is None else self._maximizer.shortlist(looked)
            else:
                further = self._further(shortlist, state, busy)
            batch = np.concatenate([batch, further[None]])
        return batch

    def _further(self, shortlist: Array, state: SurrogateState, busy: Array) -> Array:
        """One more point (`d`) of a batch beside the `busy` ones (`m x d`), from its shortlist (`s x d`)."""
        posterior = self._posterior_of(state)
        worth = self._worth(self._expecting(posterior, state, busy), state)
        return self._maximizer.lighter.best_of(
            Looked.at(shortlist, worth),
            worth,
            project=self._project,
            neighbours=self._neighbours,
            forbidden=self._forbidden(posterior.kernel, busy),
            pending=busy,
        )

    def _unchecked(self, state: SurrogateState, waiting: Array) -> Array | None:
        """The place (`d`) of the best claim to check by a repeat: one that sets the scale of all, or that only a repeat can
        check, because on a grid and among categories nothing can be tried beside it."""
        rows = self._claims.to_ask(self._X, state.trusted, waiting)
        if not len(rows):
            return None
        scale_setters = self._claims.far_below[rows] & self._bend.is_straight
        rows = rows[scale_setters | self._alone(self._X[rows])]
        place: Array | None = self._X[rows[np.argmax(self._y[rows])]] if len(rows) else None
        return place

    def _alone(self, places: Array) -> Mask:
        """Beside which of `places` (`m x d`) nothing can be tried, as booleans of shape `m`."""
        if self._project is None:
            return np.zeros(len(places), dtype=bool)
        beside = places + np.where(places < 0.5, NUDGE, -NUDGE)
        return np.all(self._project(beside) == places, axis=1)

    def _forbidden(self, kernel: str, waiting: Array) -> Array | None:
        """The points (`m x d`) that are not asked: all that were, but on a grid those that may only have had bad luck."""
        if not self._avoid_repeats:
            return None
        again = self._regions.may_repeat(self._X, self._useful, kernel) & self._alone(self._X)
        return np.concatenate([self._X[~again], waiting])

    def _or_a_rivals(self, state: SurrogateState, waiting: Array) -> tuple[Array, Looked]:
        """The best point to try (`d`), or where the search has settled there what a rival explanation would rather try; and at
        what was looked for the first."""
        posterior = self._posterior_of(state)
        point, looked = self._maximize(posterior, state, waiting)
        since = None if state.trusted.all() else settled_since(posterior, point, self._X, state.trusted)
        if since is None or self._surrogate is None:
            return point, looked
        best, most = point, float(self._worth(posterior, state).value(point[None])[0]) + math.sqrt(posterior.noise)
        for rival in self._surrogate.rivals(self._X, self._ends, state, self._known):
            x, _ = self._maximize(rival.posterior, state, waiting)
            value = float(self._worth(rival.posterior, state).value(x[None])[0])
            asked = at_the_place_of(posterior, x, np.vstack([point, waiting])).any()
            if value > most and not asked and not rival.was_refuted(x, self._X, since):
                best, most = x, value
        return best, looked

    def _maximize(
        self, posterior: GaussianPosterior, state: SurrogateState, waiting: Array, multiplier: float | None = None
    ) -> tuple[Array, Looked]:
        """The best point to try (`d`) by that posterior, and at what was looked for it."""
        worth = self._worth(self._expecting(posterior, state, waiting), state, multiplier)
        looked = self._maximizer.look(worth, np.random.default_rng([self.seed, 2, self.n, len(waiting)]))
        forbidden = self._forbidden(posterior.kernel, waiting)
        point = self._maximizer.best_of(looked, worth, self._project, self._neighbours, forbidden, waiting)
        return point, looked

    def _expecting(self, posterior: GaussianPosterior, state: SurrogateState, waiting: Array) -> GaussianPosterior:
        """What is known when those who are `waiting` (`m x d`) have reported; so much is known where suspects insist."""
        assert self._surrogate is not None
        insisting = self._surrogate.insisting(self._X, self._ends, state)
        return posterior.with_pending(np.concatenate([waiting, self._X[: state.n][insisting]]))

    def _worth(
        self, posterior: GaussianPosterior, state: SurrogateState, multiplier: float | None = None
    ) -> Acquisition:
        """The acquisition, by the schedule or that `multiplier`, times the probability of success where anything has failed."""
        acquisition = self._acquisition(posterior, self._multiplier(state) if multiplier is None else multiplier)
        return self._regions.within(acquisition, self._X, self._ends, self._useful, state)

    def _or_what_decides(self, point: Array, waiting: Array) -> Array:
        """`point` (`d`), or where the search has settled the place of a row that decides the answer, or else a new place."""
        answer, state = self._answer(), self._committed
        if answer is None or state is None:
            return point
        looks, new = Looks(answer, waiting), point
        row = looks.to_convince()
        if row is None:
            new = self._wider(point, looks, state, waiting) if self.n >= WIDER_FROM else point
            row = looks.instead_of(point, new)
        place: Array = new if row is None else self._X[row]
        return place

    def _wider(self, point: Array, looks: Looks, state: SurrogateState, waiting: Array) -> Array:
        """`point` (`d`), or as long as nothing is left to learn there the best by an ever wider bound."""
        posterior, multiplier = self._posterior_of(state), self._multiplier(state)
        for wider in WIDER:
            if not looks.has_settled_at(point):
                break
            point, _ = self._maximize(posterior, state, waiting, wider * multiplier)
        return point

    def _multiplier(self, state: SurrogateState) -> float:
        corruptions = int((~state.trusted).sum()) if self._corruptions is None else self._corruptions
        return self._schedule(self.n, dim=self.dim, corruptions=corruptions, sigma2=state.hyper.noise, decay=1.0)

    def _quasi_random(self, waiting: Array) -> Array:
        known = np.concatenate([self._X, waiting]) if self._avoid_repeats else None
        return quasi_random(self.dim, self.seed, self.n + len(waiting), self._project, known)
