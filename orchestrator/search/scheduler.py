"""RobustASHAScheduler: asynchronous successive halving that asks the searcher before it stops a trial.

ASHA stops whoever is behind at a rung, and a rung value that is a lie stops its trial for good. `orchestrator.halving` says who
is spared.
"""

import logging
from functools import partial
from typing import TYPE_CHECKING

from ray.tune.experiment import Trial
from ray.tune.result import AUTO_RESULT_KEYS, DEFAULT_RESULT_KEYS, DONE, TRAINING_ITERATION
from ray.tune.schedulers import AsyncHyperBandScheduler, TrialScheduler

from orchestrator.halving import CHANCE, WITNESSES, Mercy
from orchestrator.search.searcher import RCGPSearch

if TYPE_CHECKING:
    from ray.tune.execution.tune_controller import TuneController

    from orchestrator.search.records import Result

log = logging.getLogger(__name__)


class RobustASHAScheduler(AsyncHyperBandScheduler):
    """`ASHAScheduler`, with its arguments, for a `Tuner` that searches with `RCGPSearch`.

    The first `witnesses` trials are not stopped, nor one in five later, nor any that has at least this `chance` to end best.
    """

    _warned = False

    def __init__(self, *args: object, witnesses: int = WITNESSES, chance: float = CHANCE, **options: object) -> None:
        self._mercy = Mercy(witnesses, chance)
        super().__init__(*args, **options)

    def on_trial_add(self, tune_controller: "TuneController", trial: Trial) -> None:
        """The searcher learns what a full run is."""
        super().on_trial_add(tune_controller, trial)
        _searcher_of(tune_controller).set_budget(self._time_attr, float(self._max_t))

    def on_trial_result(self, tune_controller: "TuneController", trial: Trial, result: "Result") -> str:
        """ASHA's decision, unless it would stop a trial that may still end best."""
        self._warn_without_progress(result)
        decision: str = super().on_trial_result(tune_controller, trial, result)
        if decision != TrialScheduler.STOP or result[self._time_attr] >= self._max_t:
            return decision
        searcher = _searcher_of(tune_controller)  # knows after a restore who was first; a scheduler begins anew
        place, promise = searcher.place_of(trial.trial_id), partial(searcher.promise, trial.trial_id, result)
        if self._mercy.spares(place, promise):
            self._num_stopped -= 1
            return TrialScheduler.CONTINUE
        return decision

    def _warn_without_progress(self, result: "Result") -> None:
        """Once: without what counts progress nobody is ever stopped, and Tune says nothing of it."""
        if self._time_attr in result or self._warned:
            return
        self._warned = True
        own = sorted({*result} - {*AUTO_RESULT_KEYS, *DEFAULT_RESULT_KEYS, DONE, "trial_id"})
        there = ", ".join([TRAINING_ITERATION, *(key for key in own if not key.startswith("config/"))])
        log.warning("Nobody is stopped: reports have no time_attr %r, but %s.", self._time_attr, there)


def _searcher_of(tune_controller: "TuneController") -> RCGPSearch:
    """The searcher of the run, whatever limits it; a scheduler of its own copy would know nothing after a restore."""
    searcher = tune_controller.search_alg
    while hasattr(searcher, "searcher"):
        searcher = searcher.searcher
    if not isinstance(searcher, RCGPSearch):
        raise ValueError(
            f"RobustASHAScheduler needs TuneConfig(search_alg=RCGPSearch()), got {type(searcher).__name__}: use ASHAScheduler."
        )
    return searcher
