"""A study's parts, built: its objective, its adversary, its optimizer."""

from adversaries import Adversary, make_adversary
from objectives import Objective, make_objective
from orchestrator.campaign.study import Study
from rcgp import Optimizer, make_optimizer


def build_objective(study: Study) -> Objective:
    """The study's objective."""
    return make_objective(study.objective.name, **study.objective.options)


def build_adversary(study: Study, objective: Objective) -> Adversary:
    """The study's adversary, with a full budget."""
    optimum = None if objective.optimum is None else objective.optimum.x
    return make_adversary(study.adversary.name, trials=study.trials, optimum=optimum, **study.adversary.options)


def build_optimizer(study: Study, objective: Objective) -> Optimizer:
    """The study's optimizer, knowing nothing yet."""
    return make_optimizer(
        study.algorithm.name,
        objective.dim,
        seed=study.seed,
        n_initial=study.initial,
        horizon=study.total,
        **study.algorithm.options,
    )
