"""RCGPSampler: robust Bayesian optimisation as an Optuna sampler. One line of existing code changes.

The storage is the truth: what a trial means is said in `reports`, and all that is kept here can be rebuilt from there. Parameters
that all trials have in common are suggested together; each of the others (branches, changing ranges) by a model of its own.
"""

import copy
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from zlib import crc32

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from orchestrator.plain import Json
from orchestrator.sampler.model_cache import ModelCache
from orchestrator.sampler.notes import write_notes
from orchestrator.sampler.reports import Key, key_of, publish, published
from orchestrator.sampler.space_model import SpaceModel, are_close
from orchestrator.search.dimensions import Config
from orchestrator.search.records import BestTrial, SuspectTrial
from orchestrator.search.settings import Settings

CLOSE = 0.05
"""Two processes whose suggestions, made at the same time, are closer than this in every coordinate had the same idea."""
TRIES = 3
"""So often a suggestion is given up because another process was a moment faster with the same idea."""
Space = dict[str, BaseDistribution]


class RCGPSampler(BaseSampler):
    """Search that keeps working when some of the results are lies.

    `algorithm` is any of `rcgp.ALGORITHMS`, further options are its own. The first `n_startup_trials` are quasi-random (by
    default two for each parameter, at least four). `on_error` values failed trials: "region" learns where trials succeed,
    "pessimistic" is the worst value believed by then, "ignore" leaves them out, a number is their value. Without a `seed` every
    sampler draws its own. Parameters that not all trials have are suggested by the `independent_sampler`, by default each by a
    robust model of its own. More than `suspect_share` doubted reports give a warning. With `notes` (the default) trials get the
    user attributes `rcgp:weight` and `rcgp:expected`, and the study `rcgp:suspects`.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        algorithm: str = "a2-rcgp-ucb",
        n_startup_trials: int | None = None,
        on_error: str | float = "region",
        independent_sampler: BaseSampler | None = None,
        suspect_share: float = 0.25,
        notes: bool = True,
        **options: object,
    ) -> None:
        if "constraints_func" in options:
            raise ValueError("RCGPSampler knows no constraints: leave constraints_func out, or use Optuna's GPSampler.")
        own = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        self.settings = Settings(algorithm, own, n_startup_trials, on_error, suspect_share, None, options)
        self._independent_sampler = independent_sampler
        self._notes = notes
        self._models = ModelCache()
        self._lock = threading.RLock()

    def __getstate__(self) -> Json:
        """Samplers are pickled with their studies; what was learned is in the storage."""
        return {**self.__dict__, "_models": None, "_lock": None}

    def __setstate__(self, state: Json) -> None:
        self.__dict__.update(state, _models=ModelCache(), _lock=threading.RLock())

    # What people call

    def suspects(self, study: Study) -> list[SuspectTrial]:
        """The trials of the study whose reports are doubted, least believed first."""
        with self._lock:
            shown = self._shown(study)
            model = self._common(study, shown)
            found = [] if model is None else model.suspects()
        numbered = {trial.number: trial for trial in shown.values()}
        return [replace(s, number=int(str(s.trial_id)), config=numbered[int(str(s.trial_id))].params) for s in found]

    def best(self, study: Study, robust: bool = True) -> BestTrial:
        """The trial that the model believes best or, with `robust=False`, the one that reported the best value."""
        with self._lock:
            shown = self._shown(study)
            model = self._common(study, shown)
            if model is None:
                raise ValueError("No two completed trials of this study share a parameter yet: there is no best one.")
            best = model.best(robust=robust)
        number = int(str(best.trial_id))
        return replace(best, number=number, config=next(t for t in shown.values() if t.number == number).params)

    # What Optuna calls

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Space:
        """The parameters that all trials so far have in common, those that leave a choice."""
        _refuse_several_objectives(study)
        with self._lock:
            return self._models.common_space(study)

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: Space) -> Config:
        """Suggest these parameters together."""
        _refuse_several_objectives(study)
        if not search_space:
            return {}
        with self._lock:
            return self._suggest(study, trial, search_space)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> object:
        """Suggest a parameter that not all trials have."""
        _refuse_several_objectives(study)
        if self._independent_sampler is not None:
            return self._independent_sampler.sample_independent(study, trial, param_name, param_distribution)
        if param_distribution.single():
            return _only_value(param_distribution)
        with self._lock:
            return self._suggest_alone(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Note on the trial how far its report is believed: once it is stored as finished, nothing can be added to it."""
        _refuse_constraints([trial])
        if not self._notes or len(study.directions) > 1:
            return
        with self._lock:
            shown = self._shown(study)
            ended = _ended(shown.get(key_of(trial), trial), state, values)
            model = self._common(study, {**shown, key_of(trial): ended})
            if model is not None:
                write_notes(study, ended, model)

    def reseed_rng(self) -> None:
        """Threads share this sampler, which tells none of them what it told another; only random numbers need a new seed."""
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    # Suggesting

    def _suggest(self, study: Study, trial: FrozenTrial, space: Space) -> Config:
        """A suggestion that no other process made at the same time: whoever was first with it keeps it."""
        model = self._model(study, space, self._shown(study, but=trial))
        for _ in range(TRIES):
            before, x = model.points(), model.ask()
            params = model.space.config(x)
            mine = publish(study, trial, params, space)
            shown = self._shown(study, but=trial)
            model = self._model(study, space, shown)
            earlier = {str(t.number) for t in shown.values() if published(t).at <= mine.at}
            rivals = [point for name, point in model.points().items() if name in earlier - before.keys()]
            if not are_close(x, rivals, CLOSE):
                break
        return params

    def _suggest_alone(self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> object:
        """By a model of this parameter alone, as soon as there is one; until then at random, other in every trial."""
        seed = crc32(f"{self.settings.seed} {name}".encode())
        options = {**self.settings.options, "avoid_repeats": False}  # the other parameters differ
        settings = replace(self.settings, seed=seed, options=options)
        model = self._model(study, {name: distribution}, self._shown(study, but=trial), settings)
        if model.knows_enough():
            return model.space.config(model.ask())[name]
        space = model.space
        u = np.random.default_rng([seed, trial.number]).random((1, space.dim))
        return space.config(tuple(map(float, space.project(u)[0])))[name]

    # What is known

    def _shown(self, study: Study, but: FrozenTrial | None = None) -> dict[Key, FrozenTrial]:
        """The trials that were started, as the storage has them now."""
        trials = [t for t in study.get_trials(deepcopy=False) if t.state != TrialState.WAITING]
        _refuse_constraints(trials)
        return {key_of(trial): trial for trial in trials if but is None or trial.number != but.number}

    def _common(self, study: Study, shown: Mapping[Key, FrozenTrial]) -> SpaceModel | None:
        """What is known about the parameters that all trials have; None if there are none."""
        _refuse_several_objectives(study)
        space = self._models.common_space(study)
        return self._model(study, space, shown) if space else None

    def _model(
        self, study: Study, space: Space, shown: Mapping[Key, FrozenTrial], settings: Settings | None = None
    ) -> SpaceModel:
        sign = -1.0 if study.direction == StudyDirection.MINIMIZE else 1.0
        return self._models.of(space, settings or self.settings, sign, shown)


def _ended(trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> FrozenTrial:
    """The trial as it will be stored in a moment."""
    ended = copy.copy(trial)
    ended.state, ended.values, ended.datetime_complete = state, values, datetime.now()
    return ended


def _only_value(distribution: BaseDistribution) -> object:
    return distribution.choices[0] if isinstance(distribution, CategoricalDistribution) else distribution.low


def _refuse_several_objectives(study: Study) -> None:
    if len(study.directions) > 1:
        count = len(study.directions)
        raise ValueError(f"RCGPSampler has a single objective, the study has {count}: give create_study one direction.")


def _refuse_constraints(trials: Sequence[FrozenTrial]) -> None:
    for trial in trials:
        if any(key.startswith("constraints") for key in trial.system_attrs):
            remedy = "return a bad value instead, or use Optuna's GPSampler"
            raise ValueError(f"RCGPSampler knows no constraints, trial {trial.number} has one: {remedy}.")
