"""What people ask a searcher, and tell it, while it runs or afterwards."""

from orchestrator.failures import Failures
from orchestrator.search import trust
from orchestrator.search.core import Search
from orchestrator.search.records import BestTrial, JudgedTrial, SuspectTrial
from orchestrator.search.verdicts import RuledTrial
from orchestrator.trials import ModelFailure, Row, Trial


class Inspection:
    """The part of a searcher that is for people; `_search` is there from the moment space and mode are known."""

    _search: Search | None

    def _ready(self) -> Search:
        raise NotImplementedError

    def suspects(self) -> list[SuspectTrial]:
        """The trials whose reports are doubted, least believed first."""
        return self._ready().suspects()

    def judgements(self) -> list[JudgedTrial]:
        """Every trial that ended, how far its report is believed, and what is expected in its place."""
        return self._ready().judgements()

    def weights(self) -> dict[str, float]:
        """How far each report was believed when the last suggestion was made, by trial id: for nothing, at any time."""
        return {} if self._search is None else trust.weights(self._search.trials)

    def best(self, robust: bool = True) -> BestTrial:
        """The trial that the model believes best or, with `robust=False`, the one that reported the best value."""
        return self._ready().best(robust=robust)

    def failures(self) -> Failures | None:
        """How many trials failed, and where: printed, one line. None where none did."""
        return self._ready().failures()

    @property
    def observations(self) -> tuple[Row, ...]:
        """Every trial that ended, in the order of arrival."""
        return () if self._search is None else self._search.trials.rows

    @property
    def pending(self) -> dict[str, Trial]:
        """The suggested trials that have not ended, by Tune's id."""
        pending = {} if self._search is None else self._search.trials.pending
        return {trial.trial_id: trial for trial in pending.values() if trial.trial_id is not None}

    @property
    def model_failures(self) -> tuple[ModelFailure, ...]:
        """The suggestions that the model could not make: a quasi-random point took the place of each."""
        return () if self._search is None else tuple(self._search.trials.model_failures)

    def rule(self, trial_id: str, ruling: str, *, because: str = "") -> None:
        """Say of a trial that came back that it is a "lie", or "true", or to be run "again"; "clear" takes a ruling back."""
        self._ready().verdicts.rule(trial_id, ruling, because)

    @property
    def rulings(self) -> tuple[RuledTrial, ...]:
        """What people said of the trials, in order."""
        return () if self._search is None else tuple(self._search.verdicts.said)
