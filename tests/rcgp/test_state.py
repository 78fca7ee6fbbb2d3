"""States of surrogates: their scale, whom they trust, and whether they survive JSON."""

import json
import math
from typing import Any

import numpy as np
import pytest

from rcgp import SUSPECT_WEIGHT
from rcgp.algorithms import SURROGATES, make_surrogate
from rcgp.fit import Hyperparameters
from rcgp.state import Scaling, SurrogateState, from_json_numbers, to_json_numbers, trusted_rows
from tests.rcgp.problems import smooth

MODELS: list[tuple[str, dict[str, Any]]] = [(name, {}) for name, kind in SURROGATES.items() if kind is not None]
MODELS += [("fc-rcgp-ucb", {"recipe": "paper"}), ("a2-rcgp-ucb", {"recipe": "paper"})]


def test_plain_standardising() -> None:
    y = np.array([1.0, 4.0, -2.0, 7.0])
    np.testing.assert_allclose(Scaling.of(y).to_scaled(y), (y - y.mean()) / y.std(ddof=1))
    np.testing.assert_allclose(Scaling.of(y).to_units(Scaling.of(y).to_scaled(y)), y)


def test_a_weight_of_one_half_is_still_trusted_and_less_is_not() -> None:
    noise_inflation = np.array([1.0, 1.5, 2.0, np.nextafter(2.0, 3.0), 1e9, np.inf])
    assert trusted_rows(noise_inflation).tolist() == [True, True, True, False, False, False]
    assert SUSPECT_WEIGHT == 0.5


@pytest.mark.parametrize(("name", "options"), MODELS)
def test_a_state_survives_json(name: str, options: dict[str, Any]) -> None:
    surrogate = make_surrogate(name, options)
    assert surrogate is not None
    X, y = smooth()
    y[3], y[4] = 1e5, np.inf
    state = surrogate.update(X, y, None)
    restored = SurrogateState.from_data(json.loads(json.dumps(state.to_data(), allow_nan=False)))
    left, right = (each.posterior(X, y, surrogate.kernel) for each in (state, restored))
    np.testing.assert_array_equal(left.inverse, right.inverse)
    np.testing.assert_array_equal(left.alpha, right.alpha)
    assert left.covariance_scale == right.covariance_scale


def test_numbers_that_json_does_not_have() -> None:
    values = np.array([1.5, math.inf, -math.inf, math.nan])
    written = json.loads(json.dumps(to_json_numbers(values), allow_nan=False))
    np.testing.assert_array_equal(from_json_numbers(written), values)


def test_what_a_state_of_some_rows_says_of_all() -> None:
    """Rows that take no part keep their weight, and a fit stays as many rows ago as it was."""
    scaling, hyper = Scaling(1.0, 0.0, 1.0), Hyperparameters(np.array([0.3]), 0.1)
    lies = np.array([False, True, False, True, False])
    before = SurrogateState(scaling, hyper, np.array([1.0, 4.0, 1.0, 9.0, 1.0]), np.zeros(5), fitted_at=3, doubted=lies)
    rows = np.array([True, False, True, True, True, True])
    some = before.restricted(rows[:5])
    assert some.noise_inflation.tolist() == [1.0, 1.0, 9.0, 1.0]
    assert some.n - some.fitted_at == before.n - before.fitted_at
    later = SurrogateState(scaling, hyper, np.array([1.0, 5.0, 1.0, 1.0, 2.0]), np.zeros(5), fitted_at=5)
    everything = later.spread_over(rows, before)
    assert everything.noise_inflation.tolist() == [1.0, 4.0, 5.0, 1.0, 1.0, 2.0]
    assert everything.fitted_at == 6
    assert np.flatnonzero(some.doubted).tolist() == [2]
    assert np.flatnonzero(everything.doubted).tolist() == [1], (
        "what takes no part stays in doubt, the rest is as it is now"
    )
    assert np.array_equal(SurrogateState.from_data(before.to_data()).doubted, lies)
    assert everything.kept.tolist() == rows.tolist()
