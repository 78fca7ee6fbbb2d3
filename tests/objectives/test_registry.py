"""Objectives from plain options, by name and by import path, and the words for what went wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from objectives import make_objective

OWN = """
import numpy as np
from objectives import ObjectiveBase, Optimum, Parameter, Resources, Space

class Parabola:
    name = "parabola"
    optimum = None
    resources = Resources()
    space = Space((Parameter("a", -1.0, 1.0),))
    dim = 1
    def __init__(self, height, width=1.0):
        self.height = height
    def evaluate(self, x, rng, report=None):
        return self.height - self.space.to_units(x)["a"] ** 2
    def noiseless(self, x):
        return None

class Half:
    name = "half"
    def evaluate(self, x, rng, report=None):
        return 0.0

NOT_A_CLASS = 3

class Line(ObjectiveBase):
    space = Space((Parameter("a", -1.0, 1.0),))
    def evaluate(self, x, rng, report=None):
        return self.space.to_units(x)["a"]

class Nowhere(ObjectiveBase):
    def evaluate(self, x, rng, report=None):
        return 0.0

class Boxed(Line):
    space = {"a": (-1.0, 1.0)}

class Plane(Line):
    dim = 2

class Beyond(Line):
    optimum = Optimum((1.5,), 0.0)

class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError

class Broken(Line):
    def __init__(self):
        raise Unspeakable
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_objectives.py").write_text(OWN)
    (tmp_path / "my_broken.py").write_text("import a_package_nobody_has")
    (tmp_path / "my_typo.py").write_text("def f(:")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("forester", {}, "Unknown objective: 'forester'. Did you mean 'forrester'\\? Allowed: ackley, .*rosenbrock"),
        ("forrester", {"noise": 1.0}, "Unknown option of objective 'forrester': 'noise'.*Allowed: negate, noise_std"),
        ("forrester", {"noise_std": "1e-3"}, "noise_std of objective 'forrester' must be float, got '1e-3'"),
        ("forrester", {"noise_std": -1.0}, "noise_std must be finite and at least 0, got -1.0"),
        ("forrester", {"noise_std": True}, "must be float, got True"),
        ("forrester", {"negate": 1}, "must be bool, got 1"),
        ("levy", {"dim": 0}, "dim must be a whole number of at least 1, got 0"),
        ("levy", {"dim": 2.0}, "must be int, got 2.0"),
        ("rosenbrock", {"dim": 1}, "at least 2, got 1"),
        ("branin", {"dim": 3}, "Unknown option of objective 'branin': 'dim'"),
        ("resnet", {"dataset": "mnist"}, "dataset must be one of digits, cifar10; got 'mnist'"),
        ("resnet", {"optimizer": "lion"}, "optimizer must be one of adam, adamw, sgd; got 'lion'"),
        ("resnet", {"epochs": 0}, "epochs must be at least 1, got 0"),
        ("resnet", {"train_size": 0}, "train_size must be at least 1, got 0"),
        ("resnet", {"widths": []}, "widths must be at least 1"),
        ("resnet", {"widths": [8, "16"]}, r"widths of objective 'resnet' must be tuple.*got \[8, '16'\]"),
        ("resnet", {"train_size": 2.5}, "train_size of objective 'resnet' must be int \\| None, got 2.5"),
        ("resnet", {"label_noise": 1.5}, "label_noise.*1.5"),
        ("lander", {"episodes": 0}, "episodes must be at least 1, got 0"),
        (":Parabola", {}, "':Parabola' cannot be imported"),
        ("my_objectives:", {}, 'reads "package.module:Class"'),
        ("nobody.has.this:Parabola", {}, "cannot be imported \\(ModuleNotFoundError.*PYTHONPATH"),
        ("my_broken:Parabola", {}, "No module named 'a_package_nobody_has'"),
        ("my_typo:Parabola", {}, "cannot be imported \\(.*my_typo.py.*SyntaxError: invalid syntax"),
        ("my_objectives:Parobola", {}, "module 'my_objectives' has no attribute 'Parobola'"),
        ("my_objectives:NOT_A_CLASS", {}, 'is no class: an import path reads "package.module:Class"'),
        ("my_objectives:Parabola", {}, "cannot be made with {} .*missing 1 required positional argument: 'height'"),
        (
            "my_objectives:Parabola",
            {"height": 1.0, "widht": 1.0},
            "'widht'. Did you mean 'width'\\? Allowed: height, width",
        ),
        (
            "my_objectives:Half",
            {},
            "lacks dim, noiseless, optimum, resources, space; objectives.ObjectiveBase",
        ),
        (
            "my_objectives:Nowhere",
            {},
            "'my_objectives:Nowhere' cannot be made.*Can't instantiate abstract class Nowhere.* space",
        ),
        ("my_objectives:Boxed", {}, "space must be Space, got {'a'"),
        ("my_objectives:Plane", {}, "dim is 2, but its space has 1"),
        ("my_objectives:Beyond", {}, "its optimum: x must lie in the unit cube; coordinate 0 \\(a\\) is 1.5"),
        ("my_objectives:Broken", {}, "Unspeakable: <exception str\\(\\) failed>"),
    ],
)
@pytest.mark.usefixtures("own")
def test_a_wrong_request_is_one_line_that_says_what_is_right(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        make_objective(name, **options)
    assert "\n" not in str(refusal.value)


@pytest.mark.usefixtures("own")
def test_ones_own_objective_needs_no_fork() -> None:
    objective = make_objective("my_objectives:Parabola", height=2.0)
    assert objective.evaluate(np.array([0.75]), np.random.default_rng(0)) == 2.0 - 0.25
