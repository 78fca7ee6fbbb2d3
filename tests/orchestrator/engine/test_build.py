"""A study's parts: what the study itself decides is no option, and only what can be tried is asked for."""

import numpy as np
import pytest
from mixed import Mixed

from orchestrator.campaign.study import Component, Study
from orchestrator.engine.build import build_adversary, build_objective, build_optimizer
from orchestrator.errors import UserError

MIXED = Study(Component("a2-rcgp-ucb"), Component("mixed:Mixed"), trials=12, initial=4)


def test_only_integers_and_choices_are_asked_for_and_the_best_is_found() -> None:
    objective = build_objective(MIXED)
    optimizer = build_optimizer(MIXED, objective)
    points = []
    for number in range(MIXED.total):
        points.append(optimizer.ask())
        optimizer.tell(points[-1], objective.evaluate(points[-1], np.random.default_rng(number)))
    np.testing.assert_array_equal(objective.space.project(np.array(points)), points)
    assert {"layers": 4, "kernel": "rbf"} in [objective.space.to_units(x) for x in points]


def test_a_continuous_space_is_searched_as_it_is() -> None:
    study = Study(Component("random"), Component("branin"))
    optimizer = build_optimizer(study, build_objective(study))
    first = optimizer.ask()
    optimizer.tell(first, 0.0)
    assert len({*first, *optimizer.ask()}) == 4


def test_what_follows_from_the_campaign_is_no_option() -> None:
    objective = Mixed()
    study = Study(Component("gp-ucb", {"seed": 3}), MIXED.objective, Component("crash", {"trials": 3}))
    with pytest.raises(UserError, match="gp-ucb: seed follows from the campaign and cannot be an option"):
        build_optimizer(study, objective)
    with pytest.raises(UserError, match="crash: trials follows from the campaign"):
        build_adversary(study, objective)


def test_an_objective_that_is_gone_is_one_line() -> None:
    with pytest.raises(UserError, match="'gone:Objective' cannot be imported .*PYTHONPATH"):
        build_objective(Study(Component("random"), Component("gone:Objective")))
