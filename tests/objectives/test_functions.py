"""The test functions against their sources and their noise."""

import subprocess
import sys

import numpy as np
import pytest

from objectives import make_objective


def test_forrester_is_the_papers_function_and_maximum() -> None:
    objective = make_objective("forrester")
    assert objective.optimum is not None
    assert objective.optimum.x == (1.0,)
    assert objective.optimum.value == pytest.approx(15.8297, abs=5e-5)
    assert objective.noiseless([0.5]) == pytest.approx((6 * 0.5 - 2) ** 2 * np.sin(12 * 0.5 - 4))


def test_negated_forrester_has_the_textbook_minimum_as_its_maximum() -> None:
    objective = make_objective("forrester", negate=True)
    assert objective.optimum is not None
    assert objective.optimum.x[0] == pytest.approx(0.757249, abs=1e-6)
    assert objective.optimum.value == pytest.approx(6.02074, abs=1e-5)
    assert max(objective.noiseless([u]) or -99.0 for u in np.linspace(0, 1, 2001)) <= objective.optimum.value


@pytest.mark.parametrize("name", ["branin", "hartmann6", "ackley", "levy", "rosenbrock"])
def test_space_and_optimum_agree_with_botorch(name: str) -> None:
    from botorch.test_functions import synthetic

    objective = make_objective(name)
    function = getattr(synthetic, {"hartmann6": "Hartmann"}.get(name, name.capitalize()))
    source = function(dim=objective.dim) if name != "branin" else function()
    assert [(p.low, p.high) for p in objective.space.parameters] == [tuple(b) for b in source.bounds.T.tolist()]
    assert objective.optimum is not None
    assert objective.optimum.value == pytest.approx(-source.optimal_value, abs=1e-5)
    here = list(objective.space.to_units(objective.optimum.x).values())
    assert min(np.abs(np.array(here) - np.array(o)).max() for o in source.optimizers.tolist()) < 1e-4


@pytest.mark.parametrize(("name", "std"), [("forrester", 1.0), ("branin", 0.0), ("levy", 0.3)])
def test_noise_has_the_chosen_standard_deviation(name: str, std: float) -> None:
    objective = make_objective(name, noise_std=std) if name != "forrester" else make_objective(name)
    x, rng = np.full(objective.dim, 0.3), np.random.default_rng(0)
    noise = np.array([objective.evaluate(x, rng) for _ in range(1000)]) - objective.noiseless(x)
    assert abs(noise.mean()) <= 4 * std / np.sqrt(1000)
    assert noise.std() == pytest.approx(std, rel=0.1)


def test_an_evaluation_leaves_nothing_on_the_terminal() -> None:
    """BoTorch's dependencies warn about torch.jit.script when imported: that is nothing to tell a user."""
    code = (
        "import numpy, objectives; objectives.make_objective('branin').evaluate([0.5, 0.5], numpy.random.default_rng())"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stderr == ""
