"""RCGPSearch: robust Bayesian optimisation as a Ray Tune searcher. One line of existing code changes.

What comes back from a trial, and what it means:

| from Tune                                             | meaning                                                        |
|-------------------------------------------------------|----------------------------------------------------------------|
| a finite number (a bool counts as 0 or 1)             | an observation, believed as far as the robust weights allow    |
| an infinitely good number                             | a lie: a row without influence                                 |
| NaN, an infinitely bad number                         | a failed trial: the training diverged                          |
| None, text, a list, no metric at all                  | a failed trial                                                 |
| a crash (`error=True` without a number)               | a failed trial                                                 |
| stopped early by a scheduler (ASHA), paused for good  | an observation at its last reported value                      |
| stopped before it reported anything                   | withdrawn: nothing was learned, no row                         |
| a second or late completion                           | ignored with a warning: the first wins                         |
| an id that was never suggested                        | a restart if it reports the configuration of a pending or      |
|                                                       | failed trial, else ignored with a warning                      |

A failed trial is a row as well, by `on_error`: "pessimistic" gives it the worst value among the believed ones when the model
learns of it, which the weights may disbelieve in turn - one crash amid good neighbours is forgiven, a region that always
crashes is left; "ignore" makes it a row without influence; a number is its value. Nothing is told to the model before the
first finite number is there.
"""

import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from ray.tune.result import DEFAULT_METRIC
from ray.tune.search import Searcher
from ray.tune.search.variant_generator import parse_spec_vars

from orchestrator.plain import from_plain, to_plain
from orchestrator.search.background import Errand
from orchestrator.search.evidence import Evidence
from orchestrator.search.records import BestTrial, Fault, Pending, Row, SuspectTrial, as_number, from_json, to_json
from orchestrator.search.settings import Settings, check_goal
from orchestrator.search.space import Array, TuneSpace
from orchestrator.search.tune_state import KnownTrial, known_trials
from orchestrator.search.warmstart import Past, locate, read_results

log = logging.getLogger(__name__)

VERSION = 1
PATIENCE = 10  # a pending trial is forgotten when this many times the trials in flight ended without a sign of it
POLL_SECONDS = 0.05


class StateRefused(BaseException):
    """A saved state that cannot be continued: damaged, missing, or of another space.

    No `Exception`: Tune logs those, forgets all earlier trials, and ends with success after none or one of the others.
    """


class RCGPSearch(Searcher):
    """Search that keeps working when some of the results are lies.

    `space`, `metric` and `mode` may be left to the `Tuner`. `algorithm` is any of `rcgp.ALGORITHMS`, further options are its
    own. `n_initial` quasi-random trials come first, after `points_to_evaluate`; those with `evaluated_rewards` are believed
    to have run. `on_error` values failed trials (see the module). More than `suspect_share` doubted reports give a warning.
    From `background_from` rows on suggestions are computed in a thread, so that a slow fit does not stall the workers.
    """

    CKPT_FILE_TMPL = "searcher-state-{}.json"

    def __init__(
        self,
        space: Mapping[Any, Any] | None = None,
        metric: str | None = None,
        mode: str | None = None,
        *,
        algorithm: str = "a2-rcgp-ucb",
        seed: int = 0,
        n_initial: int | None = None,
        points_to_evaluate: Sequence[Mapping[Any, Any]] | None = None,
        evaluated_rewards: Sequence[float] | None = None,
        on_error: str | float = "pessimistic",
        suspect_share: float = 0.25,
        background_from: int | None = 400,
        **options: Any,
    ) -> None:
        check_goal(metric, mode)
        super().__init__(metric=metric, mode=mode)
        self.settings = Settings(algorithm, seed, n_initial, on_error, suspect_share, background_from, options)
        self._queue, self._past = _warm_start(points_to_evaluate, evaluated_rewards)
        self._lenient = False  # earlier results may lie outside the space, points that a person wrote may not
        self._evidence: Evidence | None = None  # from the moment the space is known
        self._pending: dict[str, Pending] = {}
        self._ended: set[str] = set()
        self._suggested = 0
        self._errand: Errand[Array] | None = None
        self.faults: list[Fault] = []
        self._given = space is not None
        if space is not None:
            self._open(TuneSpace.parse(space))

    @classmethod
    def from_results(
        cls,
        results: Any,
        metric: str,
        mode: str,
        *,
        space: Mapping[Any, Any] | None = None,
        tracking_uri: str | None = None,
        **settings: Any,
    ) -> "RCGPSearch":
        """Continue from a ResultGrid, a table with columns `config/<parameter>`, or an MLflow experiment (by name)."""
        searcher = cls(metric=metric, mode=mode, **settings)
        searcher._past, searcher._lenient = read_results(results, metric, tracking_uri), True
        if space is not None:
            searcher._given = True
            searcher._open(TuneSpace.parse(space))
        return searcher

    # What Tune calls

    def set_search_properties(self, metric: str | None, mode: str | None, config: dict[Any, Any], **spec: Any) -> bool:
        """Take over space and goal from the `Tuner`; a second fit of the same space goes on where the first ended."""
        self._set_goal(metric, mode)
        if self._given:
            _, domains, grids = parse_spec_vars(config)
            for path, _ in [*domains, *grids]:
                name = "/".join(map(str, path))
                raise ValueError(f"The space is given twice, in RCGPSearch and as param_space ({name}): give it once.")
            return True
        space = TuneSpace.parse(config)
        if self._evidence is None:
            self._open(space)
        elif change := self._evidence.space.difference(space):
            raise ValueError(f"This searcher has another space: {change}. Use a new RCGPSearch for a new space.")
        else:
            self._evidence.space, self._pending = space, {}  # the trials of an earlier fit are not coming back
        return True

    def suggest(self, trial_id: str) -> dict[Any, Any] | None:
        """The next configuration, or None while it is being computed in the background."""
        space = self._ready().space
        if trial_id in self._pending:
            return self._for_tune(space, space.config(self._pending[trial_id].x))
        if self._queue:
            config = self._queue.pop(0)
            return self._start(trial_id, space, space.encode(config), config)
        x = self._next_point()
        return None if x is None else self._start(trial_id, space, x, space.config(x))

    def on_trial_result(self, trial_id: str, result: Mapping[str, Any]) -> None:
        """A sign of life; the last value counts if a scheduler ends the trial while it is paused."""
        trial = self._pending.get(trial_id)
        if trial is not None:
            value = as_number(result.get(self._metric))
            kept = trial.value if value is None else value
            self._pending[trial_id] = replace(trial, seen=len(self.observations), value=kept)

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """A trial ended: see the module for what each way of ending means. Never raises."""
        trial = self._pending.pop(trial_id, None) or self._restarted(trial_id, result)
        if trial is None:
            reason = "it ended before" if trial_id in self._ended else "it was never suggested"
            log.warning("Ignored the completion of trial %s: %s.", trial_id, reason)
            return
        self._ended.add(trial_id)
        value = as_number(result.get(self._metric)) if result else None
        if not result and not error:
            value = trial.value
            if value is None:
                return  # withdrawn before it reported anything
        self._ready().record(trial_id, trial.number, trial.x, value)

    def add_evaluated_point(
        self,
        parameters: Mapping[Any, Any],
        value: float,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """Learn from a trial that ran elsewhere; a pruned one counts at its value, as one stopped by a scheduler does."""
        past = Past(parameters, value, error)
        if self._evidence is None:
            self._past.append(past)
        else:
            evidence = self._ready()
            evidence.record(None, None, locate(evidence.space, past), _reported(past))

    def save(self, checkpoint_path: str) -> None:
        """Write everything as strict JSON, whole or not at all."""
        target = Path(checkpoint_path)
        scratch = target.with_name(f".{target.name}.part")
        with scratch.open("w") as file:
            json.dump(self.get_state(), file, allow_nan=False)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(target)

    def restore(self, checkpoint_path: str) -> None:
        """Become the searcher that was saved, settings, space and goal included."""
        self.set_state(_read_state(checkpoint_path))

    def restore_from_dir(self, checkpoint_dir: str) -> None:
        """As `restore`, for `Tuner.restore`: what is refused here ends the fit, whatever Tune does about exceptions."""
        try:
            super().restore_from_dir(checkpoint_dir)
            self._catch_up(known_trials(checkpoint_dir))
        except Exception as error:
            raise StateRefused(str(error)) from error

    def _catch_up(self, trials: Iterable[KnownTrial]) -> None:
        """Learn of trials that started or ended after this searcher's state was saved and before Tune's own was."""
        for trial in trials:
            if self._evidence is None or trial.trial_id in self._ended:
                continue
            if trial.trial_id not in self._pending:
                try:
                    x = self._evidence.space.encode(trial.config)
                except ValueError:  # not of this space, so not of this searcher
                    continue
                self._pending[trial.trial_id] = self._repeated(x) or self._next(x)
            if trial.ended:
                error = trial.status == "ERROR"
                self.on_trial_complete(trial.trial_id, None if error else trial.last_result, error)

    def get_state(self) -> dict[str, Any]:
        """All there is to know, as strict JSON."""
        return {
            "version": VERSION,
            "settings": to_plain(asdict(self.settings)),
            "metric": self._metric,
            "mode": self._mode,
            "space": self._evidence.space.state_dict() if self._evidence else None,
            "given": self._given,
            "lenient": self._lenient,
            "queue": to_plain([dict(point) for point in self._queue]),
            "past": to_plain([[dict(past.config), past.value, past.error] for past in self._past]),
            "pending": {key: to_json(trial) for key, trial in self._pending.items()},
            "rows": [to_json(row) for row in self.observations],
            "ended": sorted(self._ended),
            "suggested": self._suggested,
            "alarmed": self._evidence is not None and self._evidence.alarmed,
            "faults": [asdict(fault) for fault in self.faults],
            "optimizer": self._evidence.optimizer.state_dict() if self._evidence else None,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Become what `get_state` described; refuses a state of another space, naming the difference."""
        space = self._space_of(state["space"])
        self.settings = Settings(**from_plain(state["settings"]))
        self._metric, self._mode = state["metric"], state["mode"]
        self._given, self._lenient = state["given"], state["lenient"]
        self._queue = from_plain(state["queue"])
        self._past = [Past(*past) for past in from_plain(state["past"])]
        self._pending = {key: Pending(**from_json(data)) for key, data in state["pending"].items()}
        self._ended, self._suggested = set(state["ended"]), state["suggested"]
        self.faults = [Fault(**data) for data in state["faults"]]
        self._errand = None
        self._evidence = None if space is None else Evidence(space, self.settings, self._sign)
        if self._evidence is not None:
            self._evidence.rows = [Row(**from_json(data)) for data in state["rows"]]
            self._evidence.alarmed = state["alarmed"]
            self._evidence.optimizer.load_state_dict(state["optimizer"])

    def __getstate__(self) -> dict[str, Any]:
        """Tune pickles its searchers; a thread stays behind and its point is computed again."""
        return {**self.__dict__, "_errand": None}

    # What people call

    def suspects(self) -> list[SuspectTrial]:
        """The trials whose reports are doubted, least believed first."""
        return self._informed().suspects()

    def best(self, robust: bool = True) -> BestTrial:
        """The trial that the model believes best or, with `robust=False`, the one that reported the best value."""
        return self._informed().best(robust)

    @property
    def observations(self) -> tuple[Row, ...]:
        """Every trial that ended, in the order of arrival."""
        return () if self._evidence is None else tuple(self._evidence.rows)

    @property
    def pending(self) -> dict[str, Pending]:
        """The suggested trials that have not ended, by id."""
        return dict(self._pending)

    # Inside

    @property
    def _sign(self) -> float:
        return -1.0 if self._mode == "min" else 1.0

    def _set_goal(self, metric: str | None, mode: str | None) -> None:
        for name, mine, theirs in (("metric", self._metric, metric), ("mode", self._mode, mode)):
            if mine and theirs and mine != theirs:
                raise ValueError(f"{name} is {mine!r} in RCGPSearch and {theirs!r} in TuneConfig: give it once.")
        check_goal(metric, mode)
        self._mode = self._mode or mode
        self._metric = self._metric or metric
        if self._evidence is not None:
            self._evidence.sign = self._sign

    def _open(self, space: TuneSpace) -> None:
        """Start on a space: check the points to evaluate and take in what is already known."""
        for index, point in enumerate(self._queue):
            _encode_point(space, point, f"points_to_evaluate[{index}]")
        points = self._located(space)
        if points and not self._mode:
            raise ValueError(
                "evaluated_rewards has values but no direction: give mode='min' or mode='max' beside them."
            )
        self._evidence, self._past = Evidence(space, self.settings, self._sign), []
        for x, value in points:
            self._evidence.record(None, None, x, value)
        if self._lenient:  # what others left may hold several lies; no worker waits yet
            self._evidence.absorb(past=True)

    def _located(self, space: TuneSpace) -> list[tuple[Array, float | None]]:
        """Points and reports of what ran earlier; outside the space it is left out if it comes from a table, else refused."""
        if not self._lenient:
            where = "points_to_evaluate[{}]".format
            return [(_encode_point(space, p.config, where(i)), _reported(p)) for i, p in enumerate(self._past)]
        points, outside = [], []
        for past in self._past:
            try:
                points.append((locate(space, past), _reported(past)))
            except ValueError as error:
                outside.append(str(error))
        if outside:
            counts = len(outside), len(self._past)
            log.warning("Left out %d of %d earlier results outside the space (%s).", *counts, outside[0])
        return points

    def _space_of(self, saved: Mapping[str, Any] | None) -> TuneSpace | None:
        """The saved space; one that is already here (it may hold live objects) is kept if it is the same."""
        if saved is None or self._evidence is None:
            return None if saved is None else TuneSpace.from_state(saved)
        here = self._evidence.space
        if json.dumps(saved["dimensions"]) != json.dumps(here.state_dict()["dimensions"]):
            change = TuneSpace.from_state(saved).difference(here)
            raise ValueError(
                f"The space changed since the state was saved: {change}. Restore with the space as it was."
            )
        return here

    def _ready(self) -> Evidence:
        if self._evidence is None:
            raise ValueError("RCGPSearch has no search space: give the Tuner a param_space.")
        if not self._mode:
            raise ValueError("RCGPSearch has no mode: with space=..., give metric=... and mode=... here too.")
        self._metric = self._metric or DEFAULT_METRIC
        return self._evidence

    def _informed(self) -> Evidence:
        """The evidence, once its optimizer knows every row."""
        evidence = self._ready()
        if self._errand is not None:
            self._errand.wait()
        evidence.absorb()
        return evidence

    def _start(self, trial_id: str, space: TuneSpace, x: Array, config: Mapping[Any, Any]) -> dict[Any, Any]:
        self._pending[trial_id] = self._next(x)
        return self._for_tune(space, config)

    def _for_tune(self, space: TuneSpace, config: Mapping[Any, Any]) -> dict[Any, Any]:
        """Tune adds the constants of its own `param_space`; those of a space given here it does not know."""
        return space.complete(config) if self._given else space.varying(config)

    def _next_point(self) -> Array | None:
        """A point, computed here while that is quick or nobody waits, else in a thread: None until it is there."""
        evidence, in_flight = self._ready(), self._in_flight()
        if self._errand is None:
            evidence.absorb()
            ask = partial(evidence.optimizer.ask, evidence.waiting(in_flight))
            limit = self.settings.background_from
            if not in_flight or limit is None or len(evidence.rows) < limit:
                return self._guarded(ask)
            self._errand = Errand(ask)
        if not self._errand.wait(POLL_SECONDS if in_flight else None):
            return None
        errand, self._errand = self._errand, None
        return self._guarded(errand.result)

    def _guarded(self, ask: Callable[[], Array]) -> Array:
        """The model's point; if the model breaks, a quasi-random one, counted and logged: a raise would end the whole fit."""
        evidence = self._ready()
        try:
            x = ask()
        except Exception as error:
            self.faults.append(Fault(self._suggested, f"{type(error).__name__}: {error}"))
            log.exception("Trial %d gets a quasi-random point: the model failed.", self._suggested)
            return evidence.quasi_random(self._in_flight())
        evidence.watch()
        return x

    def _in_flight(self) -> list[Array]:
        """Pending points that Tune has not forgotten: a time budget or a restart never reports some of them."""
        patience, ended = PATIENCE * max(1, len(self._pending)), len(self.observations)
        return [trial.x for trial in self._pending.values() if ended - trial.seen <= patience]

    def _next(self, x: Array) -> Pending:
        """The next trial in order, at `x` (`d`)."""
        self._suggested += 1
        return Pending(self._suggested - 1, x, seen=len(self.observations))

    def _restarted(self, trial_id: str, result: Mapping[str, Any] | None) -> Pending | None:
        """The trial that a restart under a new id repeats: results carry their configuration."""
        if trial_id in self._ended or not result or self._evidence is None:
            return None
        config = {k.removeprefix("config/"): v for k, v in result.items() if k.startswith("config/")}
        try:
            x = self._evidence.space.encode(config)
        except ValueError:  # no configuration, or one of another space: not a restart
            return None
        return self._repeated(x)

    def _repeated(self, x: Array) -> Pending | None:
        """The pending or failed trial at `x` (`d`), if there is one, to go on under another id."""
        for old_id, trial in self._pending.items():
            if np.allclose(trial.x, x, atol=1e-9):
                return self._pending.pop(old_id)
        for row in self.observations:
            if row.status == "failed" and row.number is not None and np.allclose(row.x, x, atol=1e-9):
                return Pending(row.number, row.x, len(self.observations))
        return None


def _warm_start(
    points: Sequence[Mapping[Any, Any]] | None, rewards: Sequence[float] | None
) -> tuple[list[Mapping[Any, Any]], list[Past]]:
    """(points to run, points that ran)."""
    listed = list(points or [])
    for index, point in enumerate(listed):
        if not isinstance(point, Mapping):
            raise ValueError(f"points_to_evaluate[{index}] must be a dictionary, got {point!r}.")
    if rewards is None:
        return listed, []
    if len(rewards) != len(listed):
        raise ValueError(f"evaluated_rewards has {len(rewards)} values for {len(listed)} points_to_evaluate.")
    return [], [Past(point, reward) for point, reward in zip(listed, rewards, strict=True)]


def _read_state(path: str) -> dict[str, Any]:
    try:
        state = json.loads(Path(path).read_text())
    except ValueError as error:
        raise ValueError(f"{path} is damaged and holds no searcher state: {error}.") from error
    if not isinstance(state, dict) or state.get("version") != VERSION:
        raise ValueError(f"{path} holds no searcher state of version {VERSION}.")
    return state


def _encode_point(space: TuneSpace, point: Mapping[Any, Any], where: str) -> Array:
    try:
        return space.encode_checked(point)
    except ValueError as error:
        raise ValueError(f"{where} is not in the space: {error}.") from None


def _reported(past: Past) -> float | None:
    """What an earlier trial reported; a crashed one nothing, whatever it reported before."""
    return None if past.error else as_number(past.value)
