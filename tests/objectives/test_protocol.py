"""What every objective promises, checked on every objective."""

import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from objectives import OBJECTIVES, Objective, make_objective, prepare

# Small enough to run in a moment; the contract is the same at any size.
QUICK: dict[str, dict[str, Any]] = {
    "resnet": {"epochs": 2, "train_size": 128, "val_size": 100, "widths": [4, 8]},
    "lander": {"episodes": 2, "max_steps": 100},
    "ackley": {"dim": 3, "noise_std": 0.5},
    "levy": {"dim": 4},
    "rosenbrock": {"dim": 5},
}


@pytest.fixture(params=sorted(OBJECTIVES))
def objective(request: pytest.FixtureRequest) -> Objective:
    return make_objective(request.param, **QUICK.get(request.param, {}))


def middle(objective: Objective) -> np.ndarray:
    return np.full(objective.dim, 0.5)


def test_it_has_every_member_of_the_protocol(objective: Objective) -> None:
    assert isinstance(objective, Objective)
    assert OBJECTIVES[objective.name] is type(objective)
    assert objective.dim == objective.space.dim == len(objective.space.names)
    assert objective.resources.cpus >= 1
    assert objective.resources.gpus == 0


def test_points_survive_the_way_to_units_and_back(objective: Objective) -> None:
    points = [*np.random.default_rng(0).random((20, objective.dim)), np.zeros(objective.dim), np.ones(objective.dim)]
    for x in points:
        np.testing.assert_allclose(objective.space.from_units(objective.space.to_units(x)), x, atol=1e-12)


def test_one_seed_gives_one_value(objective: Objective) -> None:
    first, again = (objective.evaluate(middle(objective), np.random.default_rng(3)) for _ in range(2))
    assert isinstance(first, float)
    assert np.isfinite(first)
    assert first == again


def test_global_randomness_neither_matters_nor_moves(objective: Objective) -> None:
    import torch

    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002  # the point: the global generator must not matter
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[union-attr]  # noqa: NPY002
    first = objective.evaluate(middle(objective), np.random.default_rng(3))
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002
    torch.manual_seed(2)
    assert objective.evaluate(middle(objective), np.random.default_rng(3)) == first


@pytest.mark.parametrize("bad", [-0.001, 1.001, np.nan, np.inf])
def test_points_outside_the_cube_are_refused(objective: Objective, bad: float) -> None:
    x = middle(objective)
    x[-1] = bad
    last = objective.space.names[-1]
    for use in (
        objective.noiseless,
        objective.space.to_units,
        lambda x: objective.evaluate(x, np.random.default_rng(0)),
    ):
        with pytest.raises(ValueError, match=rf"unit cube.*\({last}\) is {bad}"):
            use(x)


def test_points_of_the_wrong_shape_are_refused(objective: Objective) -> None:
    for x in (np.full(objective.dim + 1, 0.5), middle(objective)[None], np.float64(0.5)):
        with pytest.raises(ValueError, match="shape"):
            objective.evaluate(x, np.random.default_rng(0))
        with pytest.raises(ValueError, match="shape"):
            objective.noiseless(x)


def test_it_travels_by_pickle(objective: Objective) -> None:
    prepare(objective)  # what is loaded stays behind
    sent = pickle.dumps(objective)
    assert len(sent) < 2000
    twin = pickle.loads(sent)
    assert twin == objective
    x, rng = middle(objective), np.random.default_rng
    assert twin.evaluate(x, rng(1)) == objective.evaluate(x, rng(1))


def test_it_is_frozen(objective: Objective) -> None:
    with pytest.raises((FrozenInstanceError, AttributeError)):
        objective.name = "other"  # type: ignore[misc]


def test_progress_leads_to_the_value_and_does_not_change_it(objective: Objective) -> None:
    steps: list[tuple[int, float]] = []
    value = objective.evaluate(middle(objective), np.random.default_rng(5), lambda *step: steps.append(step))
    assert value == objective.evaluate(middle(objective), np.random.default_rng(5))
    assert [number for number, _ in steps] == list(range(1, len(steps) + 1))
    assert not steps or steps[-1][1] == value


def test_where_the_optimum_is_known_it_is_the_noiseless_maximum(objective: Objective) -> None:
    if objective.optimum is None:
        assert objective.noiseless(middle(objective)) is None
        return
    best = np.array(objective.optimum.x)
    at_best = objective.noiseless(best)
    assert at_best is not None
    assert at_best == pytest.approx(objective.optimum.value, abs=1e-9)
    rng = np.random.default_rng(0)
    nearby = np.clip(best + rng.normal(0, 0.01, (300, objective.dim)), 0, 1)
    for x in (*rng.random((300, objective.dim)), *nearby):
        assert objective.noiseless(x) <= objective.optimum.value + 1e-12  # type: ignore[operator]


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = "{'torch', 'torchvision', 'gymnasium', 'sklearn', 'botorch', 'scipy', 'PIL'}"
    use = "[objectives.make_objective(n).space.names for n in objectives.OBJECTIVES]"
    code = f"import sys, objectives; {use}; print({heavy} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
