"""Tune space <-> unit cube: every kind of domain, round trips, and one clear line for each bad one.

Dimensions, domains and placeholders are held here too: a space is all of them together.
"""

import copy
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ray import tune
from ray.tune.impl.placeholder import create_resolvers_map, inject_placeholders, resolve_placeholders
from ray.tune.search.sample import Float, Integer, LogUniform
from ray.tune.utils.util import merge_dicts

from orchestrator.plain import from_plain, to_plain
from orchestrator.search.dimensions import Choice, Number
from orchestrator.search.space import TuneSpace

EVERY_KIND: dict[str, Any] = {
    "uniform": tune.uniform(-2.0, 3.0),
    "quniform": tune.quniform(0.0, 1.0, 0.1),
    "loguniform": tune.loguniform(1e-5, 1e-1),
    "qloguniform": tune.qloguniform(0.5, 64.0, 0.5),
    "randint": tune.randint(2, 9),
    "qrandint": tune.qrandint(8, 64, 8),
    "lograndint": tune.lograndint(1, 1000),
    "qlograndint": tune.qlograndint(10, 1000, 10),
    "words": tune.choice(["relu", "tanh", None]),
    "two": tune.choice(["sgd", "adam"]),
    "sizes": tune.choice([128, 16, 64, 32]),
    "nested values": tune.choice([{"depth": 1}, {"depth": 2, "wide": True}, (3, 4)]),
    "constant": 7,
    "only": tune.choice(["sole"]),
    "deep": {"inner": {"x": tune.uniform(0, 1)}, "kept": "yes"},
    "layers": [tune.randint(1, 5), "fixed", (tune.uniform(0, 1), 3)],
}


def cube_points(space: TuneSpace, count: int, seed: int = 0) -> np.ndarray:
    return space.project(np.random.default_rng(seed).random((count, space.dim)))


def test_every_kind_of_domain_has_its_coordinates() -> None:
    space = TuneSpace.parse(EVERY_KIND)
    widths = {d.name: d.width for d in space.dimensions}
    assert widths["words"] == 3
    assert widths["nested values"] == 3
    assert widths["two"] == widths["sizes"] == 1
    assert not {"constant", "only", "deep/kept", "layers/1"} & set(widths)
    assert {"deep/inner/x", "layers/0", "layers/2/0"} < set(widths)
    assert space.dim == sum(widths.values()) == len(widths) + 4


def test_every_projected_point_is_a_fixed_point_and_a_round_trip() -> None:
    space = TuneSpace.parse(EVERY_KIND)
    points = cube_points(space, 300)
    np.testing.assert_array_equal(space.project(points), points)
    for x in points:
        np.testing.assert_array_equal(space.encode(space.config(x)), x)


BRANCHED = {
    "lr": tune.loguniform(1e-5, 1e-1),
    "net": tune.choice(
        [{"depth": depth, **{f"units{i}": tune.randint(8, 64) for i in range(depth)}} for depth in (1, 2)]
    ),
    "other": tune.choice([{"name": "a", "x": tune.uniform(0, 1)}, {"name": "b", "x": tune.uniform(0, 2)}]),
}


@pytest.mark.parametrize("spec", [EVERY_KIND, BRANCHED], ids=["every kind", "branches"])
def test_neighbours_can_be_tried_and_differ_in_one_parameter(spec: dict[str, Any]) -> None:
    space = TuneSpace.parse(spec)
    for x in cube_points(space, 20):
        around, here = space.cube.neighbours(x), space.values(x)
        np.testing.assert_array_equal(space.project(around), around)
        for point in around:
            there = space.values(point)
            changed = [name for name in here.keys() & there.keys() if here[name] != there[name]]
            branches = [name for name in changed if name in ("net", "other")]
            assert len(branches or changed) <= 1
    words = {str(space.values(point)) for point in around}
    assert len(words) > 3


def test_what_branches_have_in_common_has_the_same_coordinates() -> None:
    space = TuneSpace.parse(BRANCHED)
    assert space.cube.shared == ("net/units0",)
    assert space.dim == 1 + 1 + 2 + 1 + 2  # lr, net, units0 and units1, other, an x of each range
    points = [space.encode({"lr": 1e-3, "net": net, "other": {"name": "a", "x": 0.5}}) for net in NETS]
    assert np.count_nonzero(points[0] != points[1]) == 2  # the branch, and the units that only one has
    assert [space.config(point)["net"] for point in points] == NETS


NETS = [{"depth": 1, "units0": 20}, {"depth": 2, "units0": 20, "units1": 9}]


def test_a_state_that_kept_branches_apart_is_refused_in_one_line() -> None:
    state = TuneSpace.parse(BRANCHED).state_dict()
    del state["shared"]
    with pytest.raises(
        ValueError, match="An earlier version saved this, to which net/units0 was another in each branch"
    ):
        TuneSpace.from_state(state)


def test_values_are_ones_that_tune_itself_could_draw() -> None:
    space = TuneSpace.parse(EVERY_KIND)
    configs = [space.config(x) for x in cube_points(space, 2000)]
    tried = {name: {json.dumps(c[name]) for c in configs} for name in EVERY_KIND}
    assert tried["randint"] == {str(v) for v in range(2, 9)}
    assert tried["qrandint"] == {str(v) for v in range(8, 65, 8)}
    assert tried["quniform"] == {json.dumps(round(v / 10, 1)) for v in range(11)}
    assert tried["sizes"] == {"16", "32", "64", "128"}
    assert tried["words"] == {'"relu"', '"tanh"', "null"}
    assert all(1 <= c["lograndint"] <= 999 and c["qlograndint"] % 10 == 0 for c in configs)
    assert all(c["qloguniform"] % 0.5 == 0 and 0.5 <= c["qloguniform"] <= 64 for c in configs)
    assert all(c["constant"] == 7 and c["only"] == "sole" and c["deep"]["kept"] == "yes" for c in configs)
    assert all(c["layers"][1] == "fixed" and c["layers"][2][1] == 3 for c in configs)
    assert {type(c["randint"]) for c in configs} == {int}
    assert {type(c["nested values"]) for c in configs} == {dict, tuple}


@pytest.mark.parametrize("domain", [tune.randint(0, 5), tune.choice(list("abcde")), tune.choice([1, 2, 3, 4, 5])])
def test_a_uniform_cube_gives_every_value_the_same_share(domain: Any) -> None:
    space = TuneSpace.parse({"p": domain})
    drawn = [space.config(x)["p"] for x in cube_points(space, 5000)]
    shares = [drawn.count(value) / len(drawn) for value in set(drawn)]
    assert len(shares) == 5
    assert max(shares) - min(shares) < 0.05


def test_a_logarithm_gives_every_decade_the_same_share() -> None:
    space = TuneSpace.parse({"p": tune.loguniform(1e-4, 1.0)})
    decades = [math.floor(math.log10(space.config(x)["p"])) for x in cube_points(space, 4000)]
    assert max(decades.count(d) / 4000 for d in range(-4, 0)) < 0.28


def test_categories_are_equally_far_and_sizes_are_not() -> None:
    words = TuneSpace.parse({"p": tune.choice(["a", "b", "c"])})
    a, b, c = (words.encode({"p": v}) for v in "abc")
    assert np.linalg.norm(a - b) == np.linalg.norm(b - c) == np.linalg.norm(a - c) > 0
    sizes = TuneSpace.parse({"p": tune.choice([64, 16, 32])})
    small, middle, large = (sizes.encode({"p": v})[0] for v in (16, 32, 64))
    assert small < middle < large


def test_equal_looking_categories_of_different_kinds_stay_apart() -> None:
    space = TuneSpace.parse({"p": tune.choice([1, True, "1", None, "None"])})
    assert [space.config(space.encode({"p": v}))["p"] for v in (1, True, "1", None, "None")] == [
        1,
        True,
        "1",
        None,
        "None",
    ]
    assert type(space.config(space.encode({"p": True}))["p"]) is bool


def test_a_suggestion_leaves_constants_to_tune_but_fills_lists() -> None:
    space = TuneSpace.parse(EVERY_KIND)
    suggestion = space.varying(space.values(cube_points(space, 1)[0]))
    assert "constant" not in suggestion
    assert set(suggestion["deep"]) == {"inner"}
    assert suggestion["layers"][1] == "fixed"
    assert set(space.names) <= {name.replace("|", "/") for name in flat(suggestion)} | {"nested values"}


def flat(config: Any, prefix: str = "") -> list[str]:
    items = config.items() if isinstance(config, dict) else enumerate(config)
    names = []
    for key, value in items:
        name = f"{prefix}{key}"
        names += flat(value, f"{name}/") if isinstance(value, dict | list | tuple) and value else [name]
    return names


def test_nested_and_slashed_configs_mean_the_same_point() -> None:
    space = TuneSpace.parse({"a": {"b": tune.uniform(0, 1)}, "c": [tune.uniform(0, 1)]})
    nested, slashed = space.encode({"a": {"b": 0.25}, "c": [0.5]}), space.encode({"a/b": 0.25, "c/0": 0.5})
    np.testing.assert_array_equal(nested, slashed)


def test_state_is_strict_json_and_brings_the_space_back() -> None:
    space = TuneSpace.parse(EVERY_KIND)
    text = json.dumps(space.state_dict(), allow_nan=False)
    again = TuneSpace.from_state(json.loads(text))
    points = cube_points(space, 20)
    np.testing.assert_array_equal(again.project(points), points)
    assert [again.config(x) for x in points] == [space.config(x) for x in points]
    assert space.difference(again) is None


def test_a_change_of_the_space_is_named() -> None:
    old = TuneSpace.parse({"lr": tune.loguniform(1e-4, 0.1), "depth": tune.randint(1, 5)})
    new = TuneSpace.parse({"lr": tune.loguniform(1e-4, 1.0), "depth": tune.randint(1, 5)})
    gone = TuneSpace.parse({"lr": tune.loguniform(1e-4, 0.1)})
    assert old.difference(new) == (
        "lr was a number in [0.0001, 0.1] on a log scale and is a number in [0.0001, 1.0] on a log scale"
    )
    assert str(old.difference(gone)).endswith("and is absent")


OBJECTS = {
    "kernel": tune.choice([np.sin, np.cos]),
    "deep": {"act": tune.choice([{"of": abs, "n": 1}, {"of": len, "n": 2}, {"of": max}])},
    "sizes": tune.choice([np.int64(64), np.int64(16), np.int64(32)]),
    "constant": [np.tan],
    "x": tune.uniform(0, 1),
}


def through_tune(spec: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """The space as Tune passes it on, and what it would put back."""
    resolvers = create_resolvers_map()
    return inject_placeholders(copy.deepcopy(spec), resolvers), resolvers


def test_people_get_and_give_objects_where_tune_has_placeholders() -> None:
    injected, resolvers = through_tune(OBJECTS)
    own = TuneSpace.parse(OBJECTS)
    tunes = TuneSpace.parse(injected, own.objects)
    assert own.difference(tunes) is None
    for x in cube_points(own, 40):
        config, suggestion = own.config(x), merge_dicts(injected, tunes.varying(tunes.values(x)))
        assert config["kernel"] in (np.sin, np.cos)
        assert config["deep"]["act"] in ({"of": abs, "n": 1}, {"of": len, "n": 2}, {"of": max})
        assert config["constant"] == [np.tan]
        resolve_placeholders(suggestion, resolvers)
        assert suggestion == tunes.config(x) == config  # what the worker gets
        for known in (config, tunes.values(x), json.loads(json.dumps(tunes.values(x)))):
            np.testing.assert_array_equal(tunes.encode(known), x)
    widths = {d.name: d.width for d in own.dimensions}
    assert (widths["kernel"], widths["deep/act"], widths["sizes"]) == (1, 3, 1)
    assert own.config(np.zeros(own.dim))["sizes"] == 16


def test_a_space_with_objects_is_saved_as_plain_data_and_brings_placeholders_back() -> None:
    space = TuneSpace.parse(OBJECTS)
    again = TuneSpace.from_state(json.loads(json.dumps(space.state_dict(), allow_nan=False)))
    assert space.difference(again) is None
    x = cube_points(space, 1)[0]
    assert again.values(x) == space.values(x)
    assert again.config(x)["kernel"][0] == "__ref_ph"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: (
            st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_plain_data_survives_strict_json(value: Any) -> None:
    assert from_plain(json.loads(json.dumps(to_plain(value), allow_nan=False))) == value


@settings(deadline=None)
@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.floats(0, 1),
)
def test_any_float_range_stays_inside_its_bounds(low: float, extent: float, u: float) -> None:
    space = TuneSpace.parse({"p": tune.uniform(low, low + extent)})
    value = space.config(np.array([u]))["p"]
    assert low <= value <= low + extent
    assert abs(space.encode({"p": value})[0] - u) < 1e-6


@settings(deadline=None)
@given(st.integers(1, 10**6), st.integers(2, 10**9), st.booleans(), st.floats(0, 1))
def test_any_integer_range_gives_integers_inside_it(low: int, extent: int, log: bool, u: float) -> None:
    make = tune.lograndint if log else tune.randint
    space = TuneSpace.parse({"p": make(low, low + extent)})
    value = space.config(np.array([u]))["p"]
    assert low <= value < low + extent
    assert space.config(space.encode({"p": value}))["p"] == value


def log_from_zero() -> Float:
    domain = Float(0.0, 1.0)  # tune.loguniform refuses this itself; a hand-made domain must not slip through
    domain.set_sampler(Float._LogUniform())
    assert isinstance(domain.get_sampler(), LogUniform)
    return domain


BAD_SPACES = {
    "empty": ({}, "The search space is empty"),
    "only constants": ({"a": 1, "b": tune.choice([2])}, "The search space is empty"),
    "low = high": ({"a": tune.uniform(1, 1)}, "a has low = 1 >= high = 1"),
    "low > high": ({"a": {"b": tune.randint(5, 2)}}, "a/b has low = 5 >= high = 2"),
    "nan bound": ({"a": Float(math.nan, 1.0)}, "a has the bound nan"),
    "infinite bound": ({"a": Float(0.0, math.inf)}, "a has the bound inf"),
    "string bound": ({"a": Integer("1e-3", 5)}, "a has the bound '1e-3'"),
    "log from zero": ({"a": log_from_zero()}, "a has a log scale and low = 0"),
    "grid": ({"a": tune.grid_search([1, 2])}, "a is a grid_search"),
    "sample_from": ({"a": tune.sample_from(lambda: 1)}, "a is a sample_from"),
    "eval": ({"a": {"eval": "1"}}, "a is a sample_from"),
    "randn": ({"a": tune.randn(0, 1)}, "a is a randn"),
    "qrandn": ({"a": tune.qrandn(0, 1, 0.5)}, "a is a randn"),
    "choice of nothing": ({"a": tune.choice([])}, "a is a choice of nothing"),
    "large step": ({"a": tune.qrandint(0, 3, 5)}, "a has a step of 5 in a range of 3"),
    "bare domain": (
        {"a": tune.choice([tune.uniform(0, 1), 2])},
        "a is a choice of a bare domain: put it into a branch",
    ),
    "grid in a branch": ({"a": tune.choice([{"b": tune.grid_search([1])}, 2])}, "a has a grid_search inside a choice"),
    "alike": (
        {"a": tune.choice([{"b": tune.uniform(0, 1)}, {"b": tune.uniform(5, 9)}])},
        "a has two branches that look alike",
    ),
    "slash": ({"a/b": tune.uniform(0, 1), "a": {"b": tune.uniform(0, 1)}}, "a/b names two parameters"),
}


@pytest.mark.parametrize("case", BAD_SPACES)
def test_a_bad_space_gets_one_line_that_names_the_parameter(case: str) -> None:
    spec, expected = BAD_SPACES[case]
    with pytest.raises(ValueError, match="^" + expected.replace("(", r"\(")) as caught:
        TuneSpace.parse(spec)
    assert "\n" not in str(caught.value)


def test_a_sample_from_behind_tunes_placeholder_is_found_too() -> None:
    spec = {"deep": {"a": tune.sample_from(lambda: 1)}, "x": tune.uniform(0, 1)}
    with pytest.raises(ValueError, match="^deep/a is a sample_from"):
        TuneSpace.parse(inject_placeholders(spec, create_resolvers_map()))


BAD_POINTS = {
    "missing": ({"lr": 0.1, "n": 2}, "act is missing"),
    "below": ({"lr": 1e-9, "n": 2, "act": "a"}, "lr = 1e-09 is outside [0.001, 1]"),
    "excluded end": ({"lr": 0.1, "n": 5, "act": "a"}, "n = 5 is outside [1, 4]"),
    "between steps": ({"lr": 0.1, "n": 2.5, "act": "a"}, "n = 2.5 is not a multiple of its step 1"),
    "text": ({"lr": "1e-3", "n": 2, "act": "a"}, "lr = '1e-3' is not a number"),
    "nan": ({"lr": math.nan, "n": 2, "act": "a"}, "lr = nan is outside"),
    "flag": ({"lr": True, "n": 2, "act": "a"}, "lr = True is not a number"),
    "category": ({"lr": 0.1, "n": 2, "act": "z"}, "act = 'z' is none of ['a', 'b', 'c']"),
    "unknown key": ({"lr": 0.1, "n": 2, "act": "a", "momentum": 1}, "momentum is no parameter of the space"),
}


@pytest.mark.parametrize("case", BAD_POINTS)
def test_a_point_outside_the_space_names_key_value_and_bound(case: str) -> None:
    space = TuneSpace.parse(
        {"lr": tune.loguniform(1e-3, 1), "n": tune.randint(1, 5), "act": tune.choice(["a", "b", "c"])}
    )
    point, expected = BAD_POINTS[case]
    with pytest.raises(ValueError, match="is") as caught:
        space.encode(space.read_point(point))
    assert str(caught.value).startswith(expected)


def test_dimensions_are_frozen_data() -> None:
    with pytest.raises(AttributeError):
        Number("a", 0.0, 1.0).low = 2.0  # type: ignore[misc]
    assert Choice("a", ("x", "y")) == Choice("a", ("x", "y"))
