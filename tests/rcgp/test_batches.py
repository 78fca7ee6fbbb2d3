"""Several suggestions at once."""

import numpy as np
import pytest

from rcgp import Optimizer, make_optimizer


def told(n: int, dim: int = 2, algorithm: str = "a2-rcgp-ucb") -> Optimizer:
    optimizer = make_optimizer(algorithm, dim=dim, seed=3, n_initial=4, horizon=60)
    for x in np.random.default_rng(0).random((n, dim)):
        optimizer.tell(x, -float(np.sum((x - 0.4) ** 2)))
    return optimizer


@pytest.mark.parametrize("algorithm", ["a2-rcgp-ucb", "gp-ucb", "random"])
@pytest.mark.parametrize("n", [0, 3, 20])
def test_a_batch_begins_with_what_ask_says_and_repeats_nothing(algorithm: str, n: int) -> None:
    batch = told(n, algorithm=algorithm).ask_batch(8)
    assert batch.shape == (8, 2)
    assert ((batch >= 0.0) & (batch <= 1.0)).all()
    assert (batch[0] == told(n, algorithm=algorithm).ask()).all()
    assert len({row.tobytes() for row in batch}) == 8


def test_a_batch_keeps_away_from_what_is_pending() -> None:
    pending = told(20).ask_batch(3)
    further = told(20).ask_batch(3, pending)
    apart = np.linalg.norm(pending[:, None] - further[None], axis=2)
    assert apart.min() > 0.01


def test_a_batch_is_nearly_as_good_as_asking_one_by_one() -> None:
    """By the variance that is left where the objective is high, which is what a batch is for."""
    optimizer = told(20)
    asked = np.empty((0, 2))
    while len(asked) < 6:
        asked = np.concatenate([asked, optimizer.ask(asked)[None]])
    left = {}
    for name, batch in {"one by one": asked, "at once": told(20).ask_batch(6)}.items():
        informed = told(20)
        for x in batch:
            informed.tell(x, -float(np.sum((x - 0.4) ** 2)))
        left[name] = float(informed.posterior(np.random.default_rng(1).random((400, 2))).std.mean())
    assert left["at once"] < 1.25 * left["one by one"]


def test_a_batch_of_none_is_refused() -> None:
    with pytest.raises(ValueError, match="m of at least 1, got 0"):
        told(5).ask_batch(0)
