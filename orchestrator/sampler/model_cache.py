"""What a sampler has learned, by space: each model serves as long as the storage says what it knows."""

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from optuna.distributions import BaseDistribution
from optuna.search_space import IntersectionSearchSpace
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial

from orchestrator.sampler.reports import Key
from orchestrator.sampler.space_model import SpaceModel
from orchestrator.search.settings import Settings

MOST = 64
"""So many spaces are remembered; of one that was not used for long, the trials are learned again."""


class ModelCache:
    """One model for each space of each study, and for each part of a study that Optuna shows alone (Hyperband's brackets)."""

    def __init__(self) -> None:
        self._models: list[SpaceModel] = []
        self._common: WeakKeyDictionary[BaseStorage, dict[int, IntersectionSearchSpace]] = WeakKeyDictionary()

    def of(
        self, space: Mapping[str, BaseDistribution], settings: Settings, sign: float, shown: Mapping[Key, FrozenTrial]
    ) -> SpaceModel:
        """What these trials say about that space; only what is new is learned."""
        fitting = [m for m in self._models if m.is_about(space, sign) and m.is_true(shown)]
        model = max(fitting, key=len, default=None) or SpaceModel(space, settings, sign)
        self._models = [*(other for other in self._models if other is not model), model][-MOST:]
        model.catch_up(shown)
        return model

    def common_space(self, study: Study) -> dict[str, BaseDistribution]:
        """The parameters that all completed and pruned trials have in common, those that leave a choice."""
        known = self._common.setdefault(study._storage, {})
        space = known.setdefault(study._study_id, IntersectionSearchSpace(include_pruned=True)).calculate(study)
        return {name: distribution for name, distribution in space.items() if not distribution.single()}
