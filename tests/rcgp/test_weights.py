"""The P-IMQ weight at its edges."""

import math

import numpy as np
import pytest
import torch

from rcgp import PlateauIMQ
from rcgp.weights import pseudo_data

RESIDUALS = [0.0, 0.5, -1.0, 2.0, -3.0, 1e100, 1e200, -1e308, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("make", [np.array, lambda values: torch.tensor(values, dtype=torch.float64)])
def test_exact_on_the_plateau_and_in_the_limit(make: type) -> None:
    noise_inflation, target_shift = PlateauIMQ(1.0, 0.5)(make(RESIDUALS))
    assert noise_inflation[:3].tolist() == [1.0, 1.0, 1.0]
    assert target_shift[:3].tolist() == [0.0, 0.0, 0.0]
    assert noise_inflation[3:5].tolist() == [5.0, 17.0]
    assert target_shift[3:5].tolist() == pytest.approx([-2 * 1.0 / 1.25, 2 * 2.0 / 4.25])
    assert math.isfinite(float(noise_inflation[5]))
    assert noise_inflation[6:].tolist() == [math.inf] * 5
    assert target_shift[6:].tolist() == [0.0] * 5


def test_without_a_plateau_it_is_the_plain_imq() -> None:
    residual = np.linspace(-3, 3, 13)
    noise_inflation, _ = PlateauIMQ(0.0, 2.0)(residual)
    np.testing.assert_allclose(noise_inflation, 1 + residual**2 / 4)


def test_width_and_decay_may_differ_from_point_to_point() -> None:
    widths, decays = torch.tensor([0.5, 5.0, 0.0]), torch.tensor([1.0, 1.0, 2.0])
    noise_inflation, _ = PlateauIMQ(widths, decays)(torch.tensor([2.5, 2.5, 2.0]))
    assert noise_inflation.tolist() == [5.0, 1.0, 2.0]


def test_the_target_moves_away_from_the_centre_by_at_most_sigma2_over_c() -> None:
    y, noise, decay = np.linspace(-1e3, 1e3, 20001), 0.3, 0.7
    target, noises = pseudo_data(y, noise, *PlateauIMQ(1.0, decay)(y))
    moved = (target - y) * np.sign(y)
    assert (moved >= 0).all()
    assert moved.max() == pytest.approx(noise / decay, rel=1e-3)
    assert (noises >= noise).all()


@pytest.mark.parametrize(("width", "decay", "named"), [(-1.0, 1.0, "-1.0"), (1.0, 0.0, "0.0"), (math.nan, 1.0, "nan")])
def test_nonsense_is_refused_by_value(width: float, decay: float, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        PlateauIMQ(width, decay)
