"""Optuna's distributions as a cube: every value can be tried, and comes back from where it was put."""

import numpy as np
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from orchestrator.sampler.space import OptunaSpace

DISTRIBUTIONS: dict[str, BaseDistribution] = {
    "float": FloatDistribution(-1.5, 2.5),
    "log float": FloatDistribution(1e-7, 10.0, log=True),
    "steps of a tenth": FloatDistribution(-10.2, 10.2, step=0.1),
    "steps of one": FloatDistribution(0.5, 4.5, step=1),
    "integer": IntDistribution(-3, 5),
    "odd integers": IntDistribution(3, 9, step=2),
    "steps that do not fit": IntDistribution(0, 10, step=3),
    "log integer": IntDistribution(1, 100, log=True),
    "words": CategoricalDistribution(("a", "b", "c")),
    "two": CategoricalDistribution((True, False)),
    "numbers": CategoricalDistribution((64, 16, 32)),
    "mixed": CategoricalDistribution((None, 1, 2.5, "a", float("nan"))),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_point_and_its_parameters_are_the_same(name: str) -> None:
    distribution = DISTRIBUTIONS[name]
    space = OptunaSpace.parse({name: distribution})
    for row in space.project(np.random.default_rng(0).random((200, space.dim))):
        params = space.config(tuple(row))
        assert distribution._contains(distribution.to_internal_repr(params[name]))
        assert space.locate(params) == pytest.approx(tuple(row), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("steps of one", [0.5, 1.5, 2.5, 3.5, 4.5]),
        ("integer", list(range(-3, 6))),
        ("odd integers", [3, 5, 7, 9]),
        ("steps that do not fit", [0, 3, 6, 9]),
        ("numbers", [16, 32, 64]),
        ("two", [False, True]),
    ],
)
def test_every_value_can_be_tried(name: str, values: list[float]) -> None:
    space = OptunaSpace.parse({name: DISTRIBUTIONS[name]})
    points = space.project(np.linspace(0.0, 1.0, 201)[:, None])
    found = [space.config(tuple(point))[name] for point in points]
    assert sorted(set(found)) == values
    assert {type(value) for value in found} == {type(values[0])}


def test_values_are_as_people_would_write_them() -> None:
    space = OptunaSpace.parse({"x": DISTRIBUTIONS["steps of a tenth"]})
    tried = {space.config(tuple(point))["x"] for point in space.project(np.linspace(0.0, 1.0, 999)[:, None])}
    assert {len(str(value).rpartition(".")[2]) for value in tried} == {1}
    assert len(tried) == 205


def test_numbers_of_a_choice_are_in_their_order() -> None:
    space = OptunaSpace.parse({"batch": DISTRIBUTIONS["numbers"]})
    assert [space.locate({"batch": size}) for size in (16, 32, 64)] == [(0.0,), (0.5,), (1.0,)]


def test_several_parameters_lie_beside_each_other() -> None:
    space = OptunaSpace.parse({"c": DISTRIBUTIONS["words"], "x": DISTRIBUTIONS["float"]})
    assert space.dim == 4
    assert space.locate({"x": 2.5, "c": "b", "other": 1}) == (0.0, 1.0, 0.0, 1.0)


@pytest.mark.parametrize("params", [{"x": 1.0}, {"x": 9.0, "c": "a"}, {"x": 1.0, "c": "d"}])
def test_what_is_elsewhere_has_no_point(params: dict[str, object]) -> None:
    space = OptunaSpace.parse({"c": DISTRIBUTIONS["words"], "x": DISTRIBUTIONS["float"]})
    assert space.locate(params) is None


def test_an_unknown_distribution_is_named() -> None:
    class Odd(FloatDistribution.__base__):  # type: ignore[misc, name-defined]
        pass

    Odd.__abstractmethods__ = frozenset()
    with pytest.raises(ValueError, match="^x is a Odd: use suggest_float, suggest_int or suggest_categorical.$"):
        OptunaSpace.parse({"x": Odd()})
