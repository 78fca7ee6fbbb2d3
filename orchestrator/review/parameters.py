"""How much of the result each parameter explains."""

from pandas import DataFrame

from objectives import Objective
from orchestrator.review.posterior import points_of
from orchestrator.review.scale import LARGEST
from rcgp import SUSPECT_WEIGHT

ENOUGH = 20
"""Trials from which on a forest has something to learn from."""


def importance(frame: DataFrame, objective: Objective) -> dict[str, float]:
    """The share of each parameter in what a forest of random trees explains of the trusted reports; empty for too few."""
    from sklearn.ensemble import ExtraTreesRegressor

    trusted = frame[(frame["weight"] >= SUSPECT_WEIGHT) & frame["y"].abs().lt(LARGEST)]  # squares must not overflow
    if len(trusted) < ENOUGH or trusted["y"].nunique() == 1:
        return {}
    forest = ExtraTreesRegressor(n_estimators=100, min_samples_leaf=3, random_state=0)
    shares = forest.fit(points_of(trusted, objective), trusted["y"]).feature_importances_
    return dict(zip(objective.space.names, shares.tolist(), strict=True))
