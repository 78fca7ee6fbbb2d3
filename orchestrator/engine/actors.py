"""What runs in a trial actor. It imports no optimizer, so that a lost actor is soon replaced."""

import os
from collections.abc import Sequence
from functools import partial

import ray
from ray import tune

from objectives import prepare
from orchestrator.campaign.runs import import_from
from orchestrator.campaign.study import Study
from orchestrator.engine.adversary import BESIDE, RemoteAdversary
from orchestrator.engine.build import build_objective, simulated_machines
from orchestrator.engine.desk import asks
from orchestrator.engine.trial import Try, attempt, die_now, never


class TrialActor(tune.Trainable):
    """Evaluates one trial after another, with its objective loaded once."""

    def setup(self, config: dict[str, object], study: Study, adversary: str, desk: str, paths: Sequence[str]) -> None:
        """Load the objective; find the adversary and, where there is one, the desk for questions on the way."""
        import_from(paths)
        self._stops = partial(asks, ray.get_actor(desk)) if desk else never
        self._study, self._adversary = study, ray.get_actor(adversary)
        self._objective = build_objective(study)
        prepare(self._objective)
        self._machines = simulated_machines(study, self._objective)
        self._node = ray.get_runtime_context().get_node_id()

    def reset_config(self, new_config: dict[str, object]) -> bool:
        """Take the next trial without a new process."""
        return True

    def step(self) -> dict[str, object]:
        """The whole trial: it reports once, and is done."""
        told = self.config
        trial = Try(told["number"], tuple(told["x"]), told["attempt"], told["replicate_of"])
        if self._study.trial_seconds is not None:  # on record before anything can hang
            begin = self._adversary.begin.options(concurrency_group=BESIDE)
            ray.get(begin.remote(trial.number, trial.attempt, self._node, os.getpid()))
        client = RemoteAdversary(self._adversary)
        outcome = attempt(
            self._study,
            self._objective,
            client,
            trial,
            die_now,
            node=self._node,
            machines=self._machines,
            stops=self._stops,
        )
        return {"outcome": outcome, "done": True}
