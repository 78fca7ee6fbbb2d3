"""RobustASHAScheduler: asynchronous successive halving that asks the searcher before it stops a trial.

ASHA stops whoever is behind at a rung. Where good configurations learn slowly that is the best of them, and a rung value that is
a lie stops its trial for good. Here the first trials run in full, as witnesses of how curves go on, and later a trial is only
stopped if the searcher's model sees little chance that it would end best.
"""

from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import AsyncHyperBandScheduler, TrialScheduler

from orchestrator.search.searcher import RCGPSearch

WITNESSES, CHANCE = 4, 0.25
"""Tuned in `benchmarks/curves.py` on five problems and eight seeds: a chance of 0.25 gave regret 0.15, one of 0.5 0.18."""


class RobustASHAScheduler(AsyncHyperBandScheduler):
    """`ASHAScheduler`, with its arguments, for a `Tuner` that searches with `RCGPSearch`.

    The first `witnesses` trials are not stopped, nor is any that has at least this `chance` to end best of all.
    """

    def __init__(self, *args: Any, witnesses: int = WITNESSES, chance: float = CHANCE, **options: Any) -> None:
        if isinstance(witnesses, bool) or not isinstance(witnesses, int) or witnesses < 0:
            raise ValueError(f"witnesses must be a whole number of trials, got {witnesses!r}.")
        if not 0.0 <= chance <= 1.0:
            raise ValueError(f"chance must lie in [0, 1], got {chance!r}.")
        super().__init__(*args, **options)
        self._witnesses, self._chance = witnesses, chance
        self._first: list[str] = []

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        """The first trials are the witnesses; the searcher learns what a full run is."""
        super().on_trial_add(tune_controller, trial)
        _searcher_of(tune_controller).set_budget(self._time_attr, float(self._max_t))
        if len(self._first) < self._witnesses and trial.trial_id not in self._first:
            self._first.append(trial.trial_id)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        """ASHA's decision, unless it would stop a trial that may still end best."""
        decision: str = super().on_trial_result(tune_controller, trial, result)
        if decision != TrialScheduler.STOP or result[self._time_attr] >= self._max_t:
            return decision
        if (
            trial.trial_id in self._first
            or _searcher_of(tune_controller).promise(trial.trial_id, result) >= self._chance
        ):
            self._num_stopped -= 1
            return TrialScheduler.CONTINUE
        return decision


def _searcher_of(tune_controller: Any) -> RCGPSearch:
    """The searcher of the run, whatever limits it; a scheduler of its own copy would know nothing after a restore."""
    searcher = tune_controller.search_alg
    while hasattr(searcher, "searcher"):
        searcher = searcher.searcher
    if not isinstance(searcher, RCGPSearch):
        raise ValueError(
            f"RobustASHAScheduler needs TuneConfig(search_alg=RCGPSearch()), got {type(searcher).__name__}: use ASHAScheduler."
        )
    return searcher
