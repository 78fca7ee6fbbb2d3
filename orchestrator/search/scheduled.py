"""What a searcher and a scheduler have to say to each other: how far trials got, where they would end, who may still end best."""

import os
from abc import abstractmethod
from dataclasses import replace

from ray.tune.search import Searcher

from orchestrator.search.core import Search
from orchestrator.search.records import Result, as_number, config_in, resource_in
from orchestrator.search.settings import Settings


class Scheduled(Searcher):
    """A searcher whose trials a scheduler may stop on their way."""

    settings: Settings

    @abstractmethod
    def _ready(self) -> Search:
        """The search, once space and goal are known."""

    def set_budget(self, time_attr: str, max_t: float) -> None:
        """A scheduler says what counts progress, and where a trial that it does not stop would end."""
        self.settings = replace(self.settings, time_attr=time_attr, max_resource=max_t)
        self._ready().trials.full_budget = max_t

    def place_of(self, trial_id: str) -> int:
        """How many trials were suggested before this one; of one that is not known, all of them."""
        trials = self._ready().trials
        number = trials.number_of(trial_id)
        return trials.started if number is None else number

    def promise(self, trial_id: str, result: Result) -> float:
        """The probability that a trial on its way, which just reported this, would end best of all; 0 if there is no saying."""
        search, (value, spent) = self._ready(), self._told(result)
        number = search.number_of(trial_id, config_in(result))
        if value is None or spent is None or number is None or number not in search.trials.pending:
            return 0.0
        return search.promise(number, value, spent)

    def _told(self, result: Result | None) -> tuple[float | None, float | None]:
        """The value that a report brings, and how much of its resource the trial has spent."""
        report = result or {}
        return as_number(report.get(self.metric)), resource_in(report, self.settings.time_attr)


def allow_missing_metrics() -> None:
    """Tune ends the whole run at a report without the metric unless this is set; whoever has set it is left alone."""
    os.environ.setdefault("TUNE_DISABLE_STRICT_METRIC_CHECKING", "1")
