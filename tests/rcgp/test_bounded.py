"""Past `max_rows` observations: the cost stays bounded, and nothing is forgotten."""

import json

import numpy as np

from rcgp import make_optimizer
from tests.rcgp.problems import peak, run


def test_past_max_rows_the_model_stays_bounded_and_restorable() -> None:
    optimizer = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=5, max_rows=40)
    points = run(optimizer, 70, lambda x: 1e4 if optimizer.n in (20, 60) else peak(x))
    state = json.loads(json.dumps(optimizer.state_dict(), allow_nan=False))
    assert len(state["surrogate_state"]["active"]) == 40
    assert len(optimizer.weights()) == 70
    assert (optimizer.weights()[[20, 60]] < 0.5).all()
    restored = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=5, max_rows=40)
    restored.load_state_dict(state)
    np.testing.assert_array_equal(optimizer.ask(), restored.ask())
    assert np.abs(points[optimizer.recommend()] - 0.7).max() < 0.1


def test_many_rows_told_at_once_are_absorbed_in_pieces() -> None:
    optimizer = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=5, max_rows=40)
    for index, x in enumerate(np.random.default_rng(0).random((150, 2))):
        optimizer.tell(x, 1e5 if index in (30, 90, 140) else peak(x))
    optimizer.update()
    state = optimizer.state_dict()["surrogate_state"]
    assert len(state["noise_inflation"]) == 150
    assert len(state["active"]) == 40
    assert np.flatnonzero(optimizer.weights() < 0.5).tolist() == [30, 90, 140]
