"""What a search has learned: the trials that ended, in the order of arrival, and the optimizer that judges them."""

import logging
import math
from collections.abc import Sequence

import numpy as np

from orchestrator.search.records import BestTrial, Row, SuspectTrial
from orchestrator.search.settings import Settings
from orchestrator.search.space import Array, TuneSpace
from orchestrator.search.warmstart import is_time_to_judge
from rcgp import SUSPECT_WEIGHT, make_optimizer

log = logging.getLogger(__name__)


class Evidence:
    """Rows, and an optimizer that is told of them when a point is wanted. `sign` is -1 where the metric is minimised."""

    def __init__(self, space: TuneSpace, settings: Settings, sign: float) -> None:
        self.sign = sign
        self.rows: list[Row] = []
        self.optimizer = settings.optimizer(space.dim, len(space.dimensions), space.project)
        self.alarmed = False
        self.space, self._settings = space, settings

    def record(self, trial_id: str | None, number: int | None, x: Array, value: float | None) -> None:
        """A trial ended with this report (None: with none)."""
        y = math.nan if value is None else self.sign * value
        usable = math.isfinite(y) or y == math.inf
        self.rows.append(Row(trial_id, number, x, y if usable else math.nan, "completed" if usable else "failed"))

    def absorb(self, *, past: bool = False) -> None:
        """Tell the rows that are new, in the order of arrival, once there is any finite number to start from."""
        if any(row.status == "completed" and math.isfinite(row.y) for row in self.rows):
            for row in self.rows[self.optimizer.n :]:
                self.optimizer.tell(row.x, self._worth(row))
                if past and is_time_to_judge(self.optimizer.n):
                    self.optimizer.update()

    def _worth(self, row: Row) -> float:
        """What the model is told: the report, or what `on_error` makes of a failure."""
        rule = self._settings.on_error
        if row.status == "completed" or rule == "ignore":
            return row.y
        if rule != "pessimistic":
            return self.sign * float(rule)
        weights = np.ones(len(self.rows))
        weights[: self.optimizer.n] = self.optimizer.committed_weights()
        real = [(w, r.y) for w, r in zip(weights, self.rows, strict=True) if math.isfinite(r.y)]
        return min([y for weight, y in real if weight >= SUSPECT_WEIGHT] or [y for _, y in real])

    def waiting(self, in_flight: Sequence[Array]) -> Array | None:
        """Points without an outcome, `m x d`: those in flight, and the rows that are not told yet."""
        return _stacked([*(row.x for row in self.rows[self.optimizer.n :]), *in_flight])

    def quasi_random(self, in_flight: Sequence[Array]) -> Array:
        """A point (`d`) that needs no model and repeats none that is known."""
        stand_in = make_optimizer(
            "random",
            self.space.dim,
            seed=self._settings.seed,
            n_initial=1,
            project=self.space.project,
            avoid_repeats=True,
        )
        return stand_in.ask(_stacked([*(row.x for row in self.rows), *in_flight]))

    def watch(self) -> None:
        """One warning line when the share of doubted reports passes the threshold, and again only after it fell below."""
        weights = self.optimizer.committed_weights()
        reports = [w for w, row in zip(weights, self.rows, strict=False) if row.status == "completed"]
        doubted = sum(bool(weight < SUSPECT_WEIGHT) for weight in reports)
        alarm = len(reports) >= 10 and doubted > self._settings.suspect_share * len(reports)
        if alarm and not self.alarmed:
            log.warning("%d of %d reports are doubted: look at searcher.suspects().", doubted, len(reports))
        self.alarmed = alarm

    def suspects(self) -> list[SuspectTrial]:
        """The trials whose reports are doubted, least believed first."""
        return [
            SuspectTrial(
                row.trial_id,
                row.number,
                row.status,
                self.space.config(row.x),
                reported=self.sign * row.y,
                expected=self.sign * suspect.expected,
                residual=self.sign * suspect.residual,
                weight=suspect.weight,
            )
            for suspect in self.optimizer.suspects()
            for row in [self.rows[suspect.index]]
        ]

    def best(self, robust: bool) -> BestTrial:
        """The trial that the model believes best or, without `robust`, the one that reported the best value."""
        done = [index for index, row in enumerate(self.rows[: self.optimizer.n]) if row.status == "completed"]
        if not done:
            raise ValueError("No trial has completed with a finite number yet: there is no best one.")
        row = self.rows[self._believed_best(done) if robust else max(done, key=lambda i: self.rows[i].y)]
        expected = self.sign * float(self.optimizer.posterior(row.x[None]).mean[0])
        return BestTrial(row.trial_id, row.number, self.space.config(row.x), self.sign * row.y, expected)

    def _believed_best(self, done: list[int]) -> int:
        """The optimizer's recommendation if that trial completed and is believed, else the best belief among those that are."""
        index, weights = self.optimizer.recommend(), self.optimizer.weights()
        believed = [i for i in done if weights[i] >= SUSPECT_WEIGHT] or done
        if index in believed:
            return index
        means = self.optimizer.posterior(np.array([self.rows[i].x for i in believed])).mean
        return believed[int(np.argmax(means))]


def _stacked(points: Sequence[Array]) -> Array | None:
    return np.array(points) if points else None
