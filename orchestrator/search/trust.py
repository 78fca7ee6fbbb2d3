"""How far the reports of a search are trusted: the doubted trials, the best one, and a warning when there are many lies."""

import logging
import math
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, Protocol

import numpy as np

from orchestrator.failures import Coordinate, Failures, failures_of
from orchestrator.machine_records import in_words, outstanding, records
from orchestrator.search.dimensions import Config, Dimension, Number
from orchestrator.search.records import BestTrial, JudgedTrial, SuspectTrial
from orchestrator.trials import Point, Row, Trials
from rcgp import SUSPECT_WEIGHT

if TYPE_CHECKING:
    from orchestrator.search.space import TuneSpace

log = logging.getLogger(__name__)

FEW = 10
"""Among fewer reports no share is worth a warning."""


class Space(Protocol):
    """What is needed of a front end's space."""

    def config(self, x: Point) -> Config:
        """The configuration at that point, in its user's words."""


def suspects(
    trials: Trials, space: Space, sign: float, because: Callable[[int | None], str] = lambda number: ""
) -> list[SuspectTrial]:
    """The trials whose reports are doubted, least believed first; `sign` is -1 where the metric is minimised.

    `because` knows why people rule trials to be lies.
    """
    trials.tell()
    remarks = trials.optimizer.remarks()
    # a failure that was given no value is no lie
    found = [(s, row) for s in trials.optimizer.suspects() if _reported(row := trials.rows[s.index], s.residual)]
    bad, record = _bad_machine(trials.rows, {suspect.index for suspect, _ in found})
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
            reporter=row.reporter,
            reason="; ".join(filter(None, why)),
        )
        for suspect, row in found
        for why in [
            _why(row, suspect.reason or remarks.get(suspect.index, ""), because, record if row.reporter == bad else "")
        ]
    ]


def _why(row: Row, seen: str, because: Callable[[int | None], str], machine: str) -> tuple[str, str]:
    """What speaks against a report: a person, or what was seen of it; and the record of its machine."""
    return (f"ruled a lie: {because(row.number)}".removesuffix(": ") if row.ruling == "lie" else seen), machine


def _reported(row: Row, residual: float) -> bool:
    return row.status == "completed" or math.isfinite(residual)


def _bad_machine(rows: Sequence[Row], doubted: Set[int]) -> tuple[str | None, str]:
    """The machine whose reports are doubted more often than the others', if there is one, and its record in words."""
    told = (
        (row.reporter or "", i in doubted) for i, row in enumerate(rows) if row.status == "completed" or i in doubted
    )
    found = records(told)
    worst = outstanding(found)
    return (None, "") if worst is None else (worst.reporter, in_words(found).rstrip("."))


def judgements(trials: Trials, space: Space, sign: float) -> list[JudgedTrial]:
    """Every trial that the model knows, in the order of arrival, and how far its report is believed."""
    trials.tell()
    rows = trials.rows[: trials.optimizer.n]
    if not rows:
        return []
    expected = sign * trials.optimizer.posterior(np.array([row.x for row in rows])).mean
    for suspect in trials.optimizer.suspects():  # what the others say, without the suspect itself
        expected[suspect.index] = sign * suspect.expected
    told = zip(rows, expected, trials.optimizer.weights(), strict=True)
    return [
        JudgedTrial(row.trial_id, row.number, row.status, space.config(row.x), sign * row.y, float(mean), float(weight))
        for row, mean, weight in told
    ]


def weights(trials: Trials) -> dict[str, float]:
    """How far each report was believed when the last suggestion was made, by trial id; nothing is computed."""
    known = zip(trials.rows, trials.optimizer.committed_weights(), strict=False)
    return {row.trial_id: float(weight) for row, weight in known if row.trial_id is not None}


def best(trials: Trials, space: Space, sign: float, *, robust: bool) -> BestTrial:
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


def failures(rows: Sequence[Row], space: "TuneSpace") -> Failures | None:
    """How many of the `rows` failed, and which parameters tell where; None where none did."""
    failed = np.array([row.status == "failed" for row in rows], dtype=bool)
    if not failed.any():
        return None
    values = [space.values(row.x) for row in rows]
    coordinates = [
        Coordinate(name, [v.get(name) for v in values], _is_ordered(d), isinstance(d, Number) and d.log)
        for name, d in {d.name: d for d in space.dimensions}.items()
    ]
    return failures_of(failed, (), coordinates, np.array([row.x for row in rows]))


def _is_ordered(dimension: Dimension) -> bool:
    return isinstance(dimension, Number) or dimension.ordered


def many_doubted(
    trials: Trials, share: float, *, warned: bool, who: str = "RCGPSearch", ask: str = "searcher.suspects()"
) -> bool:
    """Whether more than that share of the reports are doubted; one warning line when it comes to that."""
    weights = trials.optimizer.committed_weights()
    reports = [weight for weight, row in zip(weights, trials.rows, strict=False) if row.status == "completed"]
    doubted = sum(bool(weight < SUSPECT_WEIGHT) for weight in reports)
    many = len(reports) >= FEW and doubted > share * len(reports)
    if many and not warned:
        log.warning("%s doubts %d of %d reports: look at %s.", who, doubted, len(reports), ask)
    return many
