"""How far the reports of a search are trusted: the doubted trials, the best one, and a warning when there are many lies."""

import logging

import numpy as np

from orchestrator.search.records import BestTrial, SuspectTrial
from orchestrator.search.space import TuneSpace
from orchestrator.trials import Trials
from rcgp import SUSPECT_WEIGHT

log = logging.getLogger(__name__)

FEW = 10
"""Among fewer reports no share is worth a warning."""


def suspects(trials: Trials, space: TuneSpace, sign: float) -> list[SuspectTrial]:
    """The trials whose reports are doubted, least believed first; `sign` is -1 where the metric is minimised."""
    trials.tell()
    return [
        SuspectTrial(
            row.trial_id,
            row.number,
            row.status,
            space.config(row.x),
            reported=sign * row.y,
            expected=sign * suspect.expected,
            residual=sign * suspect.residual,
            weight=suspect.weight,
        )
        for suspect in trials.optimizer.suspects()
        for row in [trials.rows[suspect.index]]
    ]


def best(trials: Trials, space: TuneSpace, sign: float, *, robust: bool) -> BestTrial:
    """The trial that the model believes best or, without `robust`, the one that reported the best value."""
    trials.tell()
    rows = trials.rows
    done = [index for index in range(trials.optimizer.n) if rows[index].status == "completed"]
    if not done:
        raise ValueError("No trial has completed with a finite number yet: there is no best one.")
    row = rows[_believed_best(trials, done) if robust else max(done, key=lambda i: rows[i].y)]
    expected = sign * float(trials.optimizer.posterior(np.array([row.x])).mean[0])
    return BestTrial(row.trial_id, row.number, space.config(row.x), sign * row.y, expected)


def _believed_best(trials: Trials, done: list[int]) -> int:
    """The optimizer's recommendation if that trial completed and is believed, else the best expectation among those that are."""
    optimizer = trials.optimizer
    index, weights = optimizer.recommend(), optimizer.weights()
    believed = [i for i in done if weights[i] >= SUSPECT_WEIGHT] or done
    if index in believed:
        return index
    means = optimizer.posterior(np.array([trials.rows[i].x for i in believed])).mean
    return believed[int(np.argmax(means))]


def many_doubted(trials: Trials, share: float, *, warned: bool) -> bool:
    """Whether more than that share of the reports are doubted; one warning line when it comes to that."""
    weights = trials.optimizer.committed_weights()
    reports = [weight for weight, row in zip(weights, trials.rows, strict=False) if row.status == "completed"]
    doubted = sum(bool(weight < SUSPECT_WEIGHT) for weight in reports)
    many = len(reports) >= FEW and doubted > share * len(reports)
    if many and not warned:
        log.warning("RCGPSearch doubts %d of %d reports: look at searcher.suspects().", doubted, len(reports))
    return many
