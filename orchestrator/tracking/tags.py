"""What MLflow's runs are called and tagged, and with which parameters: whose they are, what was run, with which code."""

import getpass
import hashlib
import json
import re
from functools import cache

import numpy as np

from objectives import Objective
from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_adversary
from orchestrator.engine.events import Observation
from orchestrator.experiments import KIND
from orchestrator.plain import to_strict_json
from orchestrator.review.provenance import commit, versions
from orchestrator.tracking.charts import COLOUR, colours

RUN, STUDY, TRIAL = "orchestrate.run", "orchestrate.study", "orchestrate.trial"
"""Tags that say what an MLflow run is: whose, and which study or trial."""
MEAN = "orchestrate.mean"
"""Tag of a run that holds the means of an algorithm over its seeds: which."""
DEFINITION = "orchestrate.definition"
"""Tag with everything that defines the study, so that it can be understood without its journal."""
WRITTEN, STAGE = "orchestrate.written", "orchestrate.stage"
"""Tags that say how far it is: the number of trials it holds, and running, paused or ended (once also: complete)."""

CLOSED = "orchestrate.closed"
"""Tag with the length of the journal that an ended study was written from; of all journals on the run of the campaign itself."""


def study_params(study: Study, objective: Objective) -> dict[str, str]:
    """What the study is, all options included; MLflow's pages group by these."""
    budget = build_adversary(study, objective).allowance
    params: dict[str, object] = {
        "algorithm": study.algorithm.label,
        "objective": study.objective.label,
        "adversary": study.adversary.label,
        "seed": study.seed,
        "trials": study.trials,
        "initial": study.initial,
        "workers": study.workers,
        "budget": budget,
    }
    for part in ("algorithm", "objective", "adversary"):
        params |= {f"{part}.{k}": v for k, v in getattr(study, part).options.items()}
    return {clean(key): _text(value)[:6000] for key, value in params.items()}


def trial_params(o: Observation, objective: Objective) -> dict[str, str]:
    """A trial's point in its own units."""
    return {clean(name): str(value) for name, value in objective.space.to_units(np.array(o.x)).items()}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(to_strict_json(value))


def clean(name: str) -> str:
    """A name MLflow takes."""
    return re.sub(r"[^\w\-. /]", "_", name)[:250]


def study_tags(run: Run, study: Study) -> dict[str, str]:
    """Whose study this is, and with what it was made."""
    described = json.dumps(to_strict_json(study.to_dict()))
    fits = {DEFINITION: described} if len(described) <= 8000 else {}
    colour = colours(run.campaign)[study.adversary.label, study.algorithm.label]
    mine = {KIND: "study", STUDY: study.key, "orchestrate.fingerprint": study.fingerprint(), COLOUR: colour}
    return run_tags(run) | mine | fits


def run_name(run: Run, study: Study) -> str:
    """As short as the experiment allows: `a2-rcgp-ucb/seed3`."""
    tracking, several = run.campaign.tracking, len(run.campaign.adversaries) > 1
    parts = [run.name] if tracking.experiment is not None else []
    return "/".join([*parts, study.algorithm.label, *([study.adversary.label] if several else []), f"seed{study.seed}"])


def run_tags(run: Run) -> dict[str, str]:
    """Whose campaign this is, and with what it was made."""
    return {RUN: run.id, "orchestrate.campaign": campaign_hash(run)} | provenance()


def campaign_hash(run: Run) -> str:
    """Changes with anything in the campaign."""
    return hashlib.sha256(json.dumps(to_strict_json(run.campaign.to_dict()), sort_keys=True).encode()).hexdigest()[:16]


@cache
def provenance() -> dict[str, str]:
    """Who, with which code."""
    return {
        "mlflow.user": getpass.getuser(),
        "mlflow.source.name": "orchestrate",
        "mlflow.source.type": "LOCAL",
        **({"mlflow.source.git.commit": commit()} if commit() else {}),
        **{f"version.{name}": version for name, version in versions().items()},
    }
