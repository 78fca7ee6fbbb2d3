"""Where a trial of a parallel study runs: anywhere; one that is asked again on another node than before, where there is one."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import ray
from ray.tune import Callback, PlacementGroupFactory

from orchestrator.campaign.study import Study
from orchestrator.engine.cluster import demand
from orchestrator.plain import Fields

if TYPE_CHECKING:
    from ray.tune.experiment import Trial

NODE = "ray.io/node-id"
"""The label that Ray gives every node."""
POLL_SECONDS = 1.0


def bundle(study: Study, config: Fields) -> PlacementGroupFactory:
    """What a trial takes, and where not to take it."""
    cpus, gpus = demand(study)
    needs = {"CPU": cpus, "GPU": gpus} if gpus else {"CPU": cpus}
    if not config.get("avoid"):
        return PlacementGroupFactory([needs])
    return PlacementGroupFactory([needs], bundle_label_selector=[{NODE: f"!in({','.join(config['avoid'])})"}])


def avoidable(study: Study, ran_on: Sequence[str]) -> list[str]:
    """The nodes that a trial can avoid: as many of those where it ran before as leave another that could run it."""
    first = (list(ran_on[:count]) for count in range(len(ran_on), 0, -1))
    return next((nodes for nodes in first if _another(study, nodes)), [])


def _another(study: Study, avoided: Sequence[str]) -> bool:
    cpus, gpus = demand(study)
    nodes = [n["Resources"] for n in ray.nodes() if n["Alive"] and n["NodeID"] not in avoided]
    return any(found.get("CPU", 0.0) >= max(cpus, 1e-9) and found.get("GPU", 0.0) >= gpus for found in nodes)


class RelaxPlacement(Callback):
    """Lets a trial that waits for another node run anywhere once there is none: a wish must not hold up a study."""

    def __init__(self, study: Study) -> None:
        self._study, self._looked = study, 0.0

    def on_step_begin(self, iteration: int, trials: "list[Trial]", **info: object) -> None:
        """Look every so often who waits for a node that is gone."""
        if time.monotonic() - self._looked < POLL_SECONDS:
            return
        self._looked = time.monotonic()
        for trial in trials:
            avoid = trial.config.get("avoid")
            if avoid and trial.status == "PENDING" and not _another(self._study, avoid):
                trial.config["avoid"] = []
                trial.update_resources(bundle(self._study, trial.config))

    def __getstate__(self) -> dict[str, object]:
        return {}
