"""What runs in a trial actor. It imports no optimizer, so that a lost actor is soon replaced."""

import os
from collections.abc import Sequence
from typing import Any

import ray
from ray import tune

from objectives import prepare
from orchestrator.campaign.runs import import_from
from orchestrator.campaign.study import Study, Suggestion
from orchestrator.engine.build import build_objective
from orchestrator.engine.trial import Charge, die_now, evaluate


class RemoteGuard:
    """The study's adversary actor, seen from a trial actor."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger

    def answer(self, number: int, attempt: int, x: tuple[float, ...], y_true: float) -> Charge:
        """Ask the one adversary of the study; a restarted one remembers."""
        charge: Charge = ray.get(self._ledger.answer.remote(number, attempt, x, y_true))
        return charge


class TrialActor(tune.Trainable):
    """Evaluates one trial after another, with its objective loaded once."""

    def setup(self, config: dict[str, Any], study: Study, ledger: str, paths: Sequence[str]) -> None:
        """Load the objective and find the adversary."""
        import_from(paths)
        self._study, self._ledger = study, ray.get_actor(ledger)
        self._objective = build_objective(study)
        prepare(self._objective)
        self._node = ray.get_runtime_context().get_node_id()

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take the next trial without a new process."""
        return True

    def step(self) -> dict[str, Any]:
        """The whole trial: it reports once, and is done."""
        suggestion = Suggestion(self.config["number"], tuple(self.config["x"]), self.config["attempt"])
        if self._study.trial_seconds is not None:  # on record before anything can hang
            ray.get(self._ledger.enter.remote(suggestion.number, suggestion.attempt, os.getpid(), self._node))
        guard = RemoteGuard(self._ledger)
        try:
            outcome = evaluate(self._study, self._objective, guard, suggestion, die_now, self._node)
        except Exception as error:  # whatever the objective raises is a failed try, and recorded as one
            return {"failure": f"{type(error).__name__}: {error}", "done": True}
        return {"outcome": outcome, "done": True}
