"""The lander: the real environment, the policy's layout, the film."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from objectives import make_objective
from objectives.lander import Lander, _environment, _policy


def hand_written() -> np.ndarray:
    """A policy a person would write: main engine when falling, side engines against tilt and drift."""
    lander = Lander()
    values = dict.fromkeys(lander.space.names, 0.0)
    values |= {"main_vy": -2.0, "main_y": -0.5, "main_bias": -0.4, "main_left_leg": -1.0, "main_right_leg": -1.0}
    values |= {"left_angle": -2.0, "left_spin": -1.0, "left_x": 0.5, "left_vx": 1.0, "left_bias": -0.2}
    values |= {"right_angle": 2.0, "right_spin": 1.0, "right_x": -0.5, "right_vx": -1.0, "right_bias": -0.2}
    return lander.space.from_units(values)


def test_the_policy_is_eight_by_four_and_four() -> None:
    lander = Lander()
    x = lander.space.from_units(
        {n: (1.5 if n == "main_vy" else 0.5 if n == "left_bias" else 0.0) for n in lander.space.names}
    )
    weights, bias = _policy(x)
    assert lander.dim == 36
    assert {(p.low, p.high) for p in lander.space.parameters} == {(-2.0, 2.0)}
    assert weights.shape == (8, 4)
    assert weights[3, 2] == pytest.approx(1.5)  # observation 3 is the vertical speed, action 2 the main engine
    np.testing.assert_allclose(bias, [0, 0.5, 0, 0], atol=1e-12)


def test_biases_alone_choose_the_engine() -> None:
    lander = Lander(episodes=1, max_steps=60)
    still = dict.fromkeys(lander.space.names, 0.0)
    policies = [lander.space.from_units({**still, f"{a}_bias": 1.0}) for a in ("idle", "left", "main", "right")]
    assert len({lander.evaluate(x, np.random.default_rng(0)) for x in policies}) == 4


def test_a_sensible_policy_beats_random_ones_by_far() -> None:
    lander, rng = Lander(), np.random.default_rng
    sensible = np.mean([lander.evaluate(hand_written(), rng(i)) for i in range(3)])
    random = np.mean([lander.evaluate(rng(i).random(36), rng([i, 1])) for i in range(10)])
    assert sensible > random + 100


def test_the_value_is_the_mean_over_episodes() -> None:
    means: list[float] = []
    value = Lander(episodes=3).evaluate(hand_written(), np.random.default_rng(0), lambda _, mean: means.append(mean))
    returns = np.diff(np.arange(4) * [0.0, *means])
    assert len(set(returns)) == 3  # each episode is another one
    assert value == pytest.approx(np.mean(returns))


def test_episodes_end_after_max_steps() -> None:
    means = {n: Lander(episodes=1, max_steps=n).evaluate(hand_written(), np.random.default_rng(0)) for n in (5, 60)}
    assert abs(means[5]) < abs(means[60])
    assert _environment(False, 5).spec.max_episode_steps == 5


def test_the_environment_is_made_once_per_process_and_remembers_nothing() -> None:
    assert _environment(False, 1000) is _environment(False, 1000)
    lander, x = make_objective("lander"), hand_written()
    before = lander.evaluate(x, np.random.default_rng(7))
    lander.evaluate(np.ones(36), np.random.default_rng(8))
    assert lander.evaluate(x, np.random.default_rng(7)) == before


def test_wind_blows() -> None:
    rng = np.random.default_rng
    assert Lander(wind=True).evaluate(hand_written(), rng(1)) != Lander().evaluate(hand_written(), rng(1))


def test_a_film_shows_the_episode(tmp_path: Path) -> None:
    lander = Lander(max_steps=40)
    total = lander.render(hand_written(), tmp_path / "flight.gif", seed=3)
    film = Image.open(tmp_path / "flight.gif")
    assert film.n_frames > 5
    assert film.size == (300, 200)
    assert np.isfinite(total)
    assert lander.render(hand_written(), tmp_path / "again.gif", seed=3) == total


def test_a_film_of_another_kind_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.gif or \.mp4, got 'flight\.avi'"):
        Lander().render(hand_written(), tmp_path / "flight.avi")
