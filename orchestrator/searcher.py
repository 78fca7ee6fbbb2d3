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
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
from ray.tune.result import DEFAULT_METRIC
from ray.tune.search import Searcher
from ray.tune.search.variant_generator import parse_spec_vars

from orchestrator.background import Errand
from orchestrator.plain import from_plain, to_plain
from orchestrator.space import Array, TuneSpace
from orchestrator.warmstart import Past, is_time_to_judge, locate, read_results
from rcgp import Optimizer, make_optimizer

log = logging.getLogger(__name__)

VERSION = 1
PATIENCE = 10  # a pending trial is forgotten when this many times the trials in flight ended without a sign of it
DOUBT = 0.5  # a weight below this is a report that is not believed
POLL_SECONDS = 0.05

Status = Literal["completed", "failed"]


@dataclass(frozen=True)
class Settings:
    """How to search: everything about a searcher but its space and its goal."""

    algorithm: str = "a2-rcgp-ucb"
    seed: int = 0
    n_initial: int | None = None
    on_error: str | float = "pessimistic"
    suspect_share: float = 0.25
    background_from: int | None = 400
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rules = ("pessimistic", "ignore")
        if self.on_error not in rules and not (_is_real(self.on_error) and math.isfinite(float(self.on_error))):
            raise ValueError(f"on_error must be 'pessimistic', 'ignore' or a finite number, got {self.on_error!r}.")
        if not (_is_real(self.suspect_share) and 0.0 < self.suspect_share <= 1.0):
            raise ValueError(f"suspect_share must lie in (0, 1], got {self.suspect_share!r}.")
        if self.background_from is not None and not (_is_whole(self.background_from) and self.background_from >= 0):
            raise ValueError(f"background_from must be a whole number of trials or None, got {self.background_from!r}.")
        self.optimizer(dim=1, parameters=1, project=None)  # a wrong option shows now, not when the fit starts

    def optimizer(self, dim: int, parameters: int, project: Callable[[Array], Array] | None) -> Optimizer:
        """A fresh optimizer; by default two initial points for each parameter, at least four."""
        initial = max(4, 2 * parameters) if self.n_initial is None else self.n_initial
        return make_optimizer(
            self.algorithm,
            dim,
            seed=self.seed,
            n_initial=initial,
            project=project,
            avoid_repeats=True,
            **self.options,
        )


@dataclass(frozen=True)
class Pending:
    """A suggested trial that has not ended; `seen` counts the rows at its last sign of life, `value` is its last report."""

    number: int
    x: Array
    seen: int
    value: float | None = None


@dataclass(frozen=True)
class Row:
    """A trial that ended, in the order of arrival: `y` is what it reported, maximised (NaN if it failed)."""

    trial_id: str | None
    number: int | None
    x: Array
    y: float
    status: Status


@dataclass(frozen=True)
class Fault:
    """A suggestion that the model could not make; a quasi-random point took its place."""

    number: int
    error: str


@dataclass(frozen=True)
class SuspectTrial:
    """A report that is doubted: its weight in [0, 1), and by how much it differs from what was expected."""

    trial_id: str | None
    number: int | None
    status: Status
    config: dict[Any, Any]
    reported: float
    expected: float
    residual: float
    weight: float


@dataclass(frozen=True)
class BestTrial:
    """A configuration, what it reported, and what the model expects of it."""

    trial_id: str | None
    number: int | None
    config: dict[Any, Any]
    reported: float
    expected: float


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
        _check_goal(metric, mode)
        super().__init__(metric=metric, mode=mode)
        self.settings = Settings(algorithm, seed, n_initial, on_error, suspect_share, background_from, options)
        self._queue, self._past = _warm_start(points_to_evaluate, evaluated_rewards)
        self._lenient = False  # earlier results may lie outside the space, points that a person wrote may not
        self._space: TuneSpace | None = None
        self._optimizer: Optimizer | None = None
        self._pending: dict[str, Pending] = {}
        self._rows: list[Row] = []
        self._ended: set[str] = set()
        self._suggested = 0
        self._alarmed = False
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
        if self._space is None:
            self._open(space)
        elif change := self._space.difference(space):
            raise ValueError(f"This searcher has another space: {change}. Use a new RCGPSearch for a new space.")
        else:
            self._space, self._pending = space, {}  # the trials of an earlier fit are not coming back
        return True

    def suggest(self, trial_id: str) -> dict[Any, Any] | None:
        """The next configuration, or None while it is being computed in the background."""
        space = self._ready()
        if trial_id in self._pending:
            return self._for_tune(space.config(self._pending[trial_id].x))
        if self._queue:
            config = self._queue.pop(0)
            return self._start(trial_id, space.encode(config), config)
        x = self._next_point()
        return None if x is None else self._start(trial_id, x, space.config(x))

    def on_trial_result(self, trial_id: str, result: Mapping[str, Any]) -> None:
        """A sign of life; the last value counts if a scheduler ends the trial while it is paused."""
        trial = self._pending.get(trial_id)
        if trial is not None:
            value = _as_number(result.get(self._metric))
            kept = trial.value if value is None else value
            self._pending[trial_id] = replace(trial, seen=len(self._rows), value=kept)

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """A trial ended: see the module for what each way of ending means. Never raises."""
        trial = self._pending.pop(trial_id, None) or self._restarted(trial_id, result)
        if trial is None:
            reason = "it ended before" if trial_id in self._ended else "it was never suggested"
            log.warning("Ignored the completion of trial %s: %s.", trial_id, reason)
            return
        self._ended.add(trial_id)
        value = _as_number(result.get(self._metric)) if result else None
        if not result and not error:
            value = trial.value
            if value is None:
                return  # withdrawn before it reported anything
        self._record(trial_id, trial.number, trial.x, value)

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
        if self._space is None:
            self._past.append(past)
        else:
            self._record(None, None, locate(self._space, past), _reported(past))

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
        except Exception as error:
            raise StateRefused(str(error)) from error

    def get_state(self) -> dict[str, Any]:
        """All there is to know, as strict JSON."""
        return {
            "version": VERSION,
            "settings": to_plain(asdict(self.settings)),
            "metric": self._metric,
            "mode": self._mode,
            "space": self._space.state_dict() if self._space else None,
            "given": self._given,
            "lenient": self._lenient,
            "queue": to_plain([dict(point) for point in self._queue]),
            "past": to_plain([[dict(past.config), past.value, past.error] for past in self._past]),
            "pending": {key: _to_json(trial) for key, trial in self._pending.items()},
            "rows": [_to_json(row) for row in self._rows],
            "ended": sorted(self._ended),
            "suggested": self._suggested,
            "alarmed": self._alarmed,
            "faults": [asdict(fault) for fault in self.faults],
            "optimizer": self._optimizer.state_dict() if self._optimizer else None,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Become what `get_state` described; refuses a state of another space, naming the difference."""
        self._set_space_from(state["space"])
        self.settings = Settings(**from_plain(state["settings"]))
        self._metric, self._mode = state["metric"], state["mode"]
        self._given, self._lenient, self._alarmed = state["given"], state["lenient"], state["alarmed"]
        self._queue = from_plain(state["queue"])
        self._past = [Past(*past) for past in from_plain(state["past"])]
        self._pending = {key: Pending(**_from_json(data)) for key, data in state["pending"].items()}
        self._rows = [Row(**_from_json(data)) for data in state["rows"]]
        self._ended, self._suggested = set(state["ended"]), state["suggested"]
        self.faults = [Fault(**data) for data in state["faults"]]
        self._errand = None
        if self._space is not None:
            self._optimizer = self._fresh_optimizer(self._space)
            self._optimizer.load_state_dict(state["optimizer"])

    def __getstate__(self) -> dict[str, Any]:
        """Tune pickles its searchers; a thread stays behind and its point is computed again."""
        return {**self.__dict__, "_errand": None}

    # What people call

    def suspects(self) -> list[SuspectTrial]:
        """The trials whose reports are doubted, least believed first."""
        space, optimizer = self._informed()
        sign = self._sign
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
            for suspect in optimizer.suspects()
            for row in [self._rows[suspect.index]]
        ]

    def best(self, robust: bool = True) -> BestTrial:
        """The trial that the model believes best or, with `robust=False`, the one that reported the best value."""
        space, optimizer = self._informed()
        done = [index for index, row in enumerate(self._rows[: optimizer.n]) if row.status == "completed"]
        if not done:
            raise ValueError("No trial has completed with a finite number yet: there is no best one.")
        index = self._believed_best(optimizer, done) if robust else max(done, key=lambda i: self._rows[i].y)
        row = self._rows[index]
        expected = float(optimizer.posterior(row.x[None]).mean[0])
        return BestTrial(row.trial_id, row.number, space.config(row.x), self._sign * row.y, self._sign * expected)

    @property
    def observations(self) -> tuple[Row, ...]:
        """Every trial that ended, in the order of arrival."""
        return tuple(self._rows)

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
        _check_goal(metric, mode)
        self._mode = self._mode or mode
        self._metric = self._metric or metric

    def _open(self, space: TuneSpace) -> None:
        """Start on a space: check the points to evaluate and take in what is already known."""
        for index, point in enumerate(self._queue):
            _encode_point(space, point, f"points_to_evaluate[{index}]")
        self._space, self._optimizer = space, self._fresh_optimizer(space)
        past, self._past, outside = self._past, [], []
        for index, one in enumerate(past):
            try:
                x = (
                    locate(space, one)
                    if self._lenient
                    else _encode_point(space, one.config, f"points_to_evaluate[{index}]")
                )
            except ValueError as error:
                if not self._lenient:
                    raise
                outside.append(str(error))
            else:
                self._record(None, None, x, _reported(one))
        if outside:
            log.warning(
                "Left out %d of %d earlier results outside the space (%s).", len(outside), len(past), outside[0]
            )
        if self._lenient:  # what others left may hold several lies; no worker waits yet
            self._absorb(self._optimizer, past=True)

    def _fresh_optimizer(self, space: TuneSpace) -> Optimizer:
        return self.settings.optimizer(space.dim, len(space.dimensions), space.project)

    def _set_space_from(self, saved: Mapping[str, Any] | None) -> None:
        """Keep a space that is already here (it may hold live objects) if it is the saved one."""
        if saved is None or self._space is None:
            self._space = None if saved is None else TuneSpace.from_state(saved)
            return
        if json.dumps(saved["dimensions"]) != json.dumps(self._space.state_dict()["dimensions"]):
            change = TuneSpace.from_state(saved).difference(self._space)
            raise ValueError(
                f"The space changed since the state was saved: {change}. Restore with the space as it was."
            )

    def _ready(self) -> TuneSpace:
        if self._space is None:
            raise ValueError("RCGPSearch has no search space: give the Tuner a param_space.")
        if not self._mode:
            raise ValueError("RCGPSearch has no mode: with space=..., give metric=... and mode=... here too.")
        self._metric = self._metric or DEFAULT_METRIC
        return self._space

    def _informed(self) -> tuple[TuneSpace, Optimizer]:
        """Space and optimizer, once it knows every row."""
        space = self._ready()
        assert self._optimizer is not None
        if self._errand is not None:
            self._errand.wait()
        self._absorb(self._optimizer)
        return space, self._optimizer

    def _start(self, trial_id: str, x: Array, config: Mapping[Any, Any]) -> dict[Any, Any]:
        self._pending[trial_id] = Pending(self._suggested, x, seen=len(self._rows))
        self._suggested += 1
        return self._for_tune(config)

    def _for_tune(self, config: Mapping[Any, Any]) -> dict[Any, Any]:
        """Tune adds the constants of its own `param_space`; those of a space given here it does not know."""
        space = self._ready()
        return space.complete(config) if self._given else space.varying(config)

    def _next_point(self) -> Array | None:
        """A point, computed here while that is quick or nobody waits, else in a thread: None until it is there."""
        assert self._optimizer is not None
        alone = not self._in_flight()
        if self._errand is None:
            self._absorb(self._optimizer)
            ask = partial(self._optimizer.ask, self._waiting(self._optimizer))
            limit = self.settings.background_from
            if alone or limit is None or len(self._rows) < limit:
                return self._guarded(ask)
            self._errand = Errand(ask)
        if not self._errand.wait(None if alone else POLL_SECONDS):
            return None
        errand, self._errand = self._errand, None
        return self._guarded(errand.result)

    def _guarded(self, ask: Callable[[], Array]) -> Array:
        """The model's point; if the model breaks, a quasi-random one, counted and logged: a raise would end the whole fit."""
        try:
            x = ask()
        except Exception as error:
            self.faults.append(Fault(self._suggested, f"{type(error).__name__}: {error}"))
            log.exception("Trial %d gets a quasi-random point: the model failed.", self._suggested)
            return self._quasi_random()
        self._watch()
        return x

    def _quasi_random(self) -> Array:
        assert self._space is not None
        assert self._optimizer is not None
        stand_in = make_optimizer(
            "random",
            self._space.dim,
            seed=self.settings.seed,
            n_initial=1,
            project=self._space.project,
            avoid_repeats=True,
        )
        known = [*(row.x for row in self._rows), *self._in_flight()]
        return stand_in.ask(np.array(known) if known else None)

    def _absorb(self, optimizer: Optimizer, *, past: bool = False) -> None:
        """Tell the rows that are new, in the order of arrival, once there is any finite number to start from."""
        if any(row.status == "completed" and math.isfinite(row.y) for row in self._rows):
            for row in self._rows[optimizer.n :]:
                optimizer.tell(row.x, self._worth(row, optimizer))
                if past and is_time_to_judge(optimizer.n):
                    optimizer.update()

    def _worth(self, row: Row, optimizer: Optimizer) -> float:
        """What the model is told: the report, or what `on_error` makes of a failure."""
        rule = self.settings.on_error
        if row.status == "completed" or rule == "ignore":
            return row.y
        if rule != "pessimistic":
            return self._sign * float(rule)
        weights = np.ones(len(self._rows))
        weights[: optimizer.n] = optimizer.weights()
        real = [(w, r.y) for w, r in zip(weights, self._rows, strict=True) if math.isfinite(r.y)]
        return min([y for weight, y in real if weight >= DOUBT] or [y for _, y in real])

    def _waiting(self, optimizer: Optimizer) -> Array | None:
        """Points without an outcome, `m x d`: those in flight, and the rows that are not told yet."""
        points = [*(row.x for row in self._rows[optimizer.n :]), *self._in_flight()]
        return np.array(points) if points else None

    def _in_flight(self) -> list[Array]:
        """Pending points that Tune has not forgotten: a time budget or a restart never reports some of them."""
        patience = PATIENCE * max(1, len(self._pending))
        return [trial.x for trial in self._pending.values() if len(self._rows) - trial.seen <= patience]

    def _restarted(self, trial_id: str, result: Mapping[str, Any] | None) -> Pending | None:
        """The trial that a restart under a new id repeats: results carry their configuration."""
        if trial_id in self._ended or not result or self._space is None:
            return None
        config = {k.removeprefix("config/"): v for k, v in result.items() if k.startswith("config/")}
        try:
            x = self._space.encode(config)
        except ValueError:  # no configuration, or one of another space: not a restart
            return None
        for old_id, trial in self._pending.items():
            if np.allclose(trial.x, x, atol=1e-9):
                return self._pending.pop(old_id)
        failed = [row for row in self._rows if row.status == "failed" and np.allclose(row.x, x, atol=1e-9)]
        return (
            Pending(failed[0].number, failed[0].x, len(self._rows)) if failed and failed[0].number is not None else None
        )

    def _record(self, trial_id: str | None, number: int | None, x: Array, value: float | None) -> None:
        y = math.nan if value is None else self._sign * value
        usable = math.isfinite(y) or y == math.inf
        self._rows.append(Row(trial_id, number, x, y if usable else math.nan, "completed" if usable else "failed"))

    def _watch(self) -> None:
        """One warning line when the share of doubted reports passes the threshold, and again only after it fell below."""
        assert self._optimizer is not None
        weights = self._optimizer.weights()
        reports = [w for w, row in zip(weights, self._rows, strict=False) if row.status == "completed"]
        doubted = sum(bool(weight < DOUBT) for weight in reports)
        alarm = len(reports) >= 10 and doubted > self.settings.suspect_share * len(reports)
        if alarm and not self._alarmed:
            log.warning("%d of %d reports are doubted: look at searcher.suspects().", doubted, len(reports))
        self._alarmed = alarm

    def _believed_best(self, optimizer: Optimizer, done: list[int]) -> int:
        """The optimizer's recommendation if that trial completed and is believed, else the best belief among those that are."""
        index, weights = optimizer.recommend(), optimizer.weights()
        believed = [i for i in done if weights[i] >= DOUBT] or done
        if index in believed:
            return index
        means = optimizer.posterior(np.array([self._rows[i].x for i in believed])).mean
        return believed[int(np.argmax(means))]


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


def _check_goal(metric: Any, mode: Any) -> None:
    if mode is not None and mode not in ("min", "max"):
        raise ValueError(f"mode must be 'min' or 'max', got {mode!r}.")
    if metric is not None and not isinstance(metric, str):
        raise ValueError(f"metric must be one name, got {metric!r}: RCGPSearch has a single objective.")


def _reported(past: Past) -> float | None:
    """What an earlier trial reported; a crashed one nothing, whatever it reported before."""
    return None if past.error else _as_number(past.value)


def _as_number(value: Any) -> float | None:
    """A report as a float, NaN and infinities included; None if it is no number at all."""
    if hasattr(value, "item"):  # scalars of numpy and torch, and arrays of one
        try:
            value = value.item()
        except (ValueError, RuntimeError):
            return None
    if not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value == abs(value) else -math.inf


def _is_real(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real)


def _is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int)


def _to_json(record: Pending | Row) -> dict[str, Any]:
    return {key: to_plain(v.tolist() if isinstance(v, np.ndarray) else v) for key, v in vars(record).items()}


def _from_json(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: np.array(value) if key == "x" else from_plain(value) for key, value in data.items()}
