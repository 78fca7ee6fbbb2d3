"""A study's parts, built: its objective, its adversary, its optimizer."""

from typing import Any

from adversaries import Adversary, make_adversary
from objectives import Objective, make_objective
from orchestrator.campaign.study import Component, Study
from orchestrator.errors import UserError
from rcgp import Optimizer, make_optimizer


def build_objective(study: Study) -> Objective:
    """The study's objective."""
    try:
        return make_objective(study.objective.name, **study.objective.options)
    except ValueError as error:  # one's own may be gone since the run began
        raise UserError(str(error)) from error


def build_adversary(study: Study, objective: Objective) -> Adversary:
    """The study's adversary, with a full budget."""
    optimum = None if objective.optimum is None else objective.optimum.x
    return make_adversary(study.adversary.name, **_options(study.adversary, trials=study.trials, optimum=optimum))


def build_optimizer(study: Study, objective: Objective) -> Optimizer:
    """The study's optimizer, knowing nothing yet."""
    options = _options(
        study.algorithm,
        dim=objective.dim,
        seed=study.seed,
        n_initial=study.initial,
        horizon=study.total,
        project=None if objective.space.continuous else objective.space.project,
    )
    return make_optimizer(study.algorithm.name, **options)


def _options(part: Component, **given: Any) -> dict[str, Any]:
    """What the study gives a part together with the part's own options, which must leave that alone."""
    for option in part.options:
        if option in given:
            raise UserError(f"{part.name}: {option} follows from the campaign and cannot be an option.")
    return given | dict(part.options)
