"""A study's parts, built: its objective, its adversary, its optimizer.

Optimizers are imported where one is built: trial actors need none, and are the sooner replaced for it.
"""

from typing import TYPE_CHECKING, Any

from adversaries import Adversary, make_adversary
from objectives import Objective, make_objective
from orchestrator.campaign.study import Component, Study
from orchestrator.errors import UserError

if TYPE_CHECKING:
    from rcgp import Optimizer


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


def simulated_machines(study: Study, objective: Objective) -> int:
    """How many machines the study's adversary stands for; 0 where trials are reported by who ran them."""
    return build_adversary(study, objective).reporters


def build_optimizer(study: Study, objective: Objective) -> "Optimizer":
    """The study's optimizer, knowing nothing yet."""
    from rcgp import make_optimizer

    return make_optimizer(study.algorithm.name, **_options(study.algorithm, **_given(study, objective)))


def build_fallback(study: Study, objective: Objective) -> "Optimizer":
    """Who suggests quasi-random points where the study's model fails."""
    from rcgp import make_optimizer

    return make_optimizer("random", **_given(study, objective))


def _given(study: Study, objective: Objective) -> dict[str, Any]:
    """What an optimizer needs to know of its study."""
    return {
        "dim": objective.dim,
        "seed": study.seed,
        "n_initial": study.initial,
        "horizon": study.total,
        "project": None if objective.space.continuous else objective.space.project,
    }


def _options(part: Component, **given: Any) -> dict[str, Any]:
    """What the study gives a part together with the part's own options, which must leave that alone."""
    for option in part.options:
        if option in given:
            raise UserError(f"{part.name}: {option} follows from the campaign and cannot be an option.")
    return given | dict(part.options)
