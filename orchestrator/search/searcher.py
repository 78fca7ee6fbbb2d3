"""RCGPSearch: robust Bayesian optimisation as a Ray Tune searcher. One line of existing code changes.

What comes back from a trial, and what it means:

| from Tune                                             | meaning                                                        |
|-------------------------------------------------------|----------------------------------------------------------------|
| a finite number (a bool counts as 0 or 1)             | an observation, believed as far as the robust weights allow    |
| an infinitely good number                             | a lie: nothing useful comes from there                         |
| NaN, an infinitely bad number                         | a failed trial: the training diverged                          |
| None, text, a list                                    | a failed trial                                                 |
| no metric in the last report                          | an observation at the last value seen, else a failed trial     |
| a crash (`error=True` without a number)               | a failed trial                                                 |
| a failed trial that was retried and reports a number  | an observation that takes the place of the failure             |
| stopped early by a scheduler (ASHA), paused for good  | an observation at its share of the budget (`orchestrator.rungs`) |
| stopped before it reported anything                   | withdrawn: nothing was learned, no row                         |
| a second or late completion                           | ignored with a warning: the first wins                         |
| an id that was never suggested                        | a retry if it reports the configuration of a pending or failed |
|                                                       | trial, else ignored with a warning                             |

A failed trial is a row as well, by `on_error`: "region" teaches a model of where trials succeed, as an infinitely good
number does - one crash amid good neighbours is forgiven, a region that always crashes is left; "pessimistic" gives it the
worst value among those believed when it arrived; "ignore" makes it a row without influence; a number is its value. Nothing is
told to the model before the first finite number is there.
"""

import logging
import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ray.tune.result import DEFAULT_METRIC, TRAINING_ITERATION

from orchestrator.plain import Json, from_plain, to_plain
from orchestrator.search.core import Search
from orchestrator.search.inspection import Inspection
from orchestrator.search.placeholders import objects_known_to_tune
from orchestrator.search.records import Result, as_number, config_in, host_in
from orchestrator.search.saved import known_trials, newest_state, read_state, write_state
from orchestrator.search.scheduled import Scheduled, allow_missing_metrics
from orchestrator.search.settings import Settings, check_goal, check_space
from orchestrator.search.space import AnyConfig, Config, TuneSpace, has_domains
from orchestrator.search.warmstart import Past, WarmStart, locate, read_results

if TYPE_CHECKING:
    from pandas import DataFrame
    from ray.tune import ResultGrid

log = logging.getLogger(__name__)


class RCGPSearch(Inspection, Scheduled):
    """Search that keeps working when some of the results are lies.

    `space`, `metric` and `mode` may be left to the `Tuner`. `algorithm` is any of `rcgp.ALGORITHMS`, further options are its
    own. `n_initial` quasi-random trials come first, after `points_to_evaluate`, whose open values are quasi-random too; those
    with `evaluated_rewards` are believed to have run. `on_error` values failed trials (see the module). More than
    `suspect_share` doubted reports give a warning. From `background_from` rows on suggestions are computed in a thread, so
    that a slow fit does not stall the workers. `error_metric` names the standard error that trials report beside the metric. The
    last `confirm` of the Tuner's `num_samples` trials run again what decides the answer (None: up to a tenth of them, while the
    answer was run only once). `time_attr` counts a trial's progress where a scheduler stops some on their way (None: the last
    report counts), `max_resource` is where they would end.
    """

    def __init__(
        self,
        space: AnyConfig | None = None,
        metric: str | None = None,
        mode: str | None = None,
        *,
        algorithm: str = "a2-rcgp-ucb",
        seed: int = 0,
        n_initial: int | None = None,
        points_to_evaluate: Sequence[AnyConfig] | None = None,
        evaluated_rewards: Sequence[float] | None = None,
        on_error: str | float = "region",
        suspect_share: float = 0.25,
        background_from: int | None = 400,
        error_metric: str | None = None,
        confirm: int | None = None,
        time_attr: str | None = TRAINING_ITERATION,
        max_resource: float | None = None,
        **options: Any,
    ) -> None:
        check_space(space)
        check_goal(metric, mode)
        super().__init__(metric=metric, mode=mode)
        how = (algorithm, seed, n_initial, on_error, suspect_share, background_from, options, error_metric, confirm)
        self.settings = Settings(*how, time_attr, max_resource)
        self._warm_start = WarmStart.of(points_to_evaluate, evaluated_rewards)
        self._space: TuneSpace | None = None
        self._given = space is not None
        self._search: Search | None = None  # from the moment space and mode are known
        self._max_concurrent: int | None = None
        self._live: set[str] = set()  # what counts against it
        self._refused = ""  # why a saved state could not be restored: then there is nothing to go on with
        if space is not None:
            self._take_space(TuneSpace.parse(space))

    @classmethod
    def from_results(
        cls,
        results: "ResultGrid | DataFrame | str",
        metric: str,
        mode: str,
        *,
        space: AnyConfig | None = None,
        tracking_uri: str | None = None,
        **settings: Any,
    ) -> Self:
        """Continue from a ResultGrid, a table with columns `config/<parameter>`, or an MLflow experiment (by name)."""
        searcher = cls(metric=metric, mode=mode, **settings)
        searcher._warm_start = WarmStart(past=read_results(results, metric, tracking_uri), lenient=True)
        if space is not None:
            searcher._given = True
            searcher._take_space(TuneSpace.parse(space))
        return searcher

    @classmethod
    def load(cls, folder: str | Path, space: AnyConfig | None = None) -> Self:
        """The searcher of an experiment from its folder: to ask it for `best()` and `suspects()` after `Tuner.restore`, say.

        With `space`, configurations hold the classes and other objects of it instead of Tune's placeholders for them.
        """
        searcher = cls(space)
        searcher.restore_from_dir(str(folder))
        return searcher

    # What Tune calls

    def set_search_properties(
        self, metric: str | None, mode: str | None, config: Config, *, num_samples: int | None = None, **spec: object
    ) -> bool:
        """Take over space and goal from the `Tuner`; a second fit of the same space goes on where the first ended."""
        allow_missing_metrics()
        self._set_goal(metric, mode)
        if not self._given or has_domains(config):
            own = {} if self._space is None else self._space.objects
            self._take_space(TuneSpace.parse(config, {**own, **objects_known_to_tune()}))
            self._given = False  # Tune has constants and objects of its own
        self._begin()
        self._learn_horizon(num_samples)
        return True

    def set_max_concurrency(self, max_concurrent: int) -> bool:
        """Count the trials in flight here, on behalf of a ConcurrencyLimiter: it would lose the results of retried trials.

        Results are learned as they come, with its `batch=True` too.
        """
        self._max_concurrent, self._live = max_concurrent, set()
        return True

    def suggest(self, trial_id: str) -> Config | None:
        """The next configuration; None while as many run as may, or while it is being computed in the background."""
        search = self._ready()
        if self._max_concurrent is not None and len(self._live - {trial_id}) >= self._max_concurrent:
            return None
        values = search.suggest(trial_id)
        if values is None:
            return None
        self._live.add(trial_id)
        # Tune adds the constants and objects of its own `param_space`; those of a space given here it does not know
        return search.space.complete(values) if self._given else search.space.varying(values)

    def on_trial_result(self, trial_id: str, result: Result) -> None:
        """A sign of life; the last value counts if the trial ends without another."""
        search = self._ready()
        number = search.number_of(trial_id, config_in(result))
        if number is not None:
            search.report(number, *self._told(result), config_in(result))

    def on_trial_complete(self, trial_id: str, result: Result | None = None, error: bool = False) -> None:
        """A trial ended: see the module for what each way of ending means."""
        search = self._ready()
        self._live.discard(trial_id)
        number = search.number_of(trial_id, config_in(result or {}))
        if number is None:
            log.warning("RCGPSearch ignored the completion of trial %s: it was never suggested.", trial_id)
            return
        value = self._last_value(number, result or {}, error)
        nothing_learned = value is None and not result and not error
        error_of, spent = self._standard_error(result or {}), self._told(result)[1]
        ended = partial(search.end, resource=spent, standard_error=error_of, reporter=host_in(result or {}))
        if not (search.trials.withdraw(number) if nothing_learned else ended(number, value)):
            log.warning("RCGPSearch ignored the completion of trial %s: it ended before.", trial_id)

    def add_evaluated_point(
        self,
        parameters: AnyConfig,
        value: float,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """Learn from a trial that ran elsewhere; a pruned one counts at its value, as one stopped by a scheduler does."""
        past = Past(parameters, value, error)
        if self._search is None:
            self._warm_start.past.append(past)
        else:
            self._search.record(locate(self._search.space, past), past.reported)

    def save(self, checkpoint_path: str) -> None:
        """Write everything as strict JSON, whole or not at all; Tune calls the file `.pkl`, and its wrappers look for that."""
        write_state(Path(checkpoint_path), self.get_state())

    def restore(self, checkpoint_path: str) -> None:
        """Become the searcher that was saved, settings, space and goal included, and learn what Tune wrote down beside it.

        A state that is refused - damaged, or of another space - raises here and in every later suggestion: Tune logs what
        is raised here, and would go on without any of the earlier trials.
        """
        path = Path(checkpoint_path).expanduser()
        try:
            file = newest_state(path, self.CKPT_FILE_TMPL) if path.is_dir() else path
            self.set_state(read_state(file))
            self._catch_up(file.parent)
        except Exception as error:
            self._refused = str(error)
            raise
        self._refused, self._live = "", set()

    def restore_from_dir(self, checkpoint_dir: str) -> None:
        """As `restore`, from the newest state in the folder of an experiment; its unfinished trials run on."""
        self.restore(checkpoint_dir)
        self._live = set(self.pending)

    def get_state(self) -> Json:
        """All there is to know, as strict JSON."""
        return {
            "settings": to_plain(asdict(self.settings)),
            "metric": self._metric,
            "mode": self._mode,
            "space": None if self._space is None else self._space.state_dict(),
            "given": self._given,
            "warm_start": self._warm_start.state_dict(),
            "search": None if self._search is None else self._search.state_dict(),
        }

    def set_state(self, state: Json) -> None:
        """Become what `get_state` described; refuses a state of another space, naming the difference."""
        self._space = self._same_space(state["space"])
        self.settings = Settings(**from_plain(state["settings"]))
        self._metric, self._mode = state["metric"], state["mode"]
        self._given, self._warm_start = state["given"], WarmStart.from_state(state["warm_start"])
        self._search = None
        if state["search"] is not None and self._space is not None:
            self._search = Search(self._space, self.settings, self._sign)
            self._search.load_state_dict(state["search"])

    # Space and goal

    @property
    def _sign(self) -> float:
        return -1.0 if self._mode == "min" else 1.0

    def _set_goal(self, metric: str | None, mode: str | None) -> None:
        check_goal(metric, mode)
        for name, mine, theirs in (("metric", self._metric, metric), ("mode", self._mode, mode)):
            if mine and theirs and mine != theirs:
                raise ValueError(f"{name} is {mine!r} in RCGPSearch and {theirs!r} in TuneConfig: give it once.")
        self._mode = self._mode or mode
        self._metric = self._metric or metric

    def _take_space(self, space: TuneSpace) -> None:
        """Start on a space; in another fit of the same one the trials of the earlier fit are not coming back."""
        if self._space is not None:
            remedy = "give the space once" if self._given else "use a new RCGPSearch for a new space"
            self._space.expect(space, f"RCGPSearch has another space than the Tuner: {{}}: {remedy}.")
        self._warm_start.check(space, self._mode)
        self._space = space
        if self._search is not None:
            self._search.space = space
            self._search.forget_pending()
        self._begin()

    def _begin(self) -> None:
        """Start to search, once space and mode are known, with what ran earlier."""
        if self._search is not None or self._space is None or not self._mode:
            return
        warm, self._warm_start = self._warm_start, WarmStart()
        self._search = Search(self._space, self.settings, self._sign)
        self._search.queue = warm.points
        for x, value in warm.results(self._space):
            self._search.record(x, value)
        if warm.lenient:  # what others left may hold several lies; no worker waits yet
            self._search.trials.tell_anew()

    def _same_space(self, saved: Json | None) -> TuneSpace | None:
        """The saved space; one that is already here (it has the objects) is kept if it is the same."""
        if saved is None or self._space is None:
            return None if saved is None else TuneSpace.from_state(saved)
        change = "The space changed since the state was saved: {}. Restore with the space as it was."
        TuneSpace.from_state(saved).expect(self._space, change)
        return self._space

    def _ready(self) -> Search:
        if self._refused:
            raise ValueError(self._refused)
        if self._space is None:
            raise ValueError("RCGPSearch has no search space: give the Tuner a param_space.")
        if self._search is None:
            raise ValueError(
                "RCGPSearch has no mode: say mode='min' or mode='max' in TuneConfig, or where the space is given."
            )
        allow_missing_metrics()
        self._metric = self._metric or DEFAULT_METRIC
        return self._search

    # Trials

    def _last_value(self, number: int, result: Result, error: bool) -> float | None:
        """What the trial reported last; an earlier value counts where the end brings none, but not after a crash."""
        if self._metric in result:
            return as_number(result[self._metric])
        trial = self._ready().trials.pending.get(number)
        return None if error or trial is None else trial.last_report

    def _standard_error(self, result: Result) -> float | None:
        """What the trial says of its own precision, where that makes sense."""
        error = None if self.settings.error_metric is None else as_number(result.get(self.settings.error_metric))
        return error if error is not None and 0.0 < error < math.inf else None

    def _learn_horizon(self, samples: int | None) -> None:
        """When the end is near, for trials that confirm the answer."""
        if self.settings.confirm and (samples is None or samples < 1):
            raise ValueError(
                f"confirm={self.settings.confirm} needs to know the last trials: give num_samples a number."
            )
        if self._search is not None:
            started = self._search.trials.started
            self._search.verdicts.horizon = None if samples is None else started + samples

    def _catch_up(self, folder: Path) -> None:
        """Learn of trials that started or ended after this state was saved and before Tune's own was."""
        if self._search is None:
            return
        known = known_trials(folder, self._search.space, self._metric or DEFAULT_METRIC, self.settings.time_attr)
        if known is not None:
            self._search.catch_up(known)
