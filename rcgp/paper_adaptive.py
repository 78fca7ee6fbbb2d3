"""A2-RCGP as the paper has it: `recipe="paper"`. What the default does otherwise, and why, is in `rcgp.adaptive`."""

from __future__ import annotations

import numpy as np

from rcgp.evidence import Evidence
from rcgp.fit import POWERS, leave_one_out_score
from rcgp.fixed_center import RobustSurrogate, Told, paper_width
from rcgp.gaussian import Array
from rcgp.state import Scaling, SurrogateState
from rcgp.surrogates import fitted_at, hyper_of, if_any
from rcgp.weights import PlateauIMQ


def paper_update(
    surrogate: RobustSurrogate, X: Array, y: Array, previous: SurrogateState | None, evidence: Evidence
) -> SurrogateState:
    """Anchor with centre 0; the adaptive model is centred on the anchor's posterior mean, with the same plateau."""
    n, due = len(y), surrogate.fit_is_due(len(y), previous)
    scaling = Scaling.of(y[np.isfinite(y)])
    told = Told.of(X, y, scaling, evidence)
    plateau, own = PlateauIMQ(paper_width(told.z), 1.0), if_any(told.own_noise)
    start = previous.anchor if previous else None
    anchor, noise_inflation, target_shift = surrogate.fixed_center(told, plateau, start, due=due)
    state = SurrogateState(scaling, anchor, noise_inflation, target_shift, n, own_noise=own)
    mean = state.posterior(X, y, surrogate.kernel).mean(X)
    noise_inflation, target_shift = told.weighed(plateau, told.z - mean)
    data = told.data(noise_inflation, target_shift)
    hyper = surrogate.refit(data, leave_one_out_score(POWERS["paper"]), hyper_of(previous), due=due)
    at = fitted_at(n, due, previous)
    return SurrogateState(scaling, hyper, noise_inflation, target_shift, at, anchor=anchor, own_noise=own)
