"""`RobustGP` as a BoTorch model: acquisition functions, batches, gradients, conditioning, transforms."""

import logging

import numpy as np
import pytest
import torch
from botorch.acquisition import UpperConfidenceBound, qKnowledgeGradient, qLogNoisyExpectedImprovement
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from torch import Tensor

from rcgp import PlateauIMQ, RobustGP, make_optimizer

BOUNDS = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)


def data(n: int = 18) -> tuple[Tensor, Tensor]:
    """A smooth function with its maximum at (1, 1), and three lies."""
    X = torch.quasirandom.SobolEngine(2, scramble=True, seed=1).draw(n, dtype=torch.float64)
    Y = -((X - 1.0) ** 2).sum(-1, keepdim=True)
    Y[2], Y[5], Y[7] = 1e9, float("inf"), float("nan")
    return X, Y


@pytest.fixture
def model() -> RobustGP:
    return RobustGP.robust(*data())


def test_weights_tell_the_lies(model: RobustGP) -> None:
    assert model.weights[[5, 7]].tolist() == [0.0, 0.0]
    assert float(model.weights[2]) < 1e-6
    honest = [i for i in range(18) if i not in (2, 5, 7)]
    assert (model.weights[honest] > 0.5).all()


def test_upper_confidence_bound_finds_the_maximum(model: RobustGP) -> None:
    point, _ = optimize_acqf(UpperConfidenceBound(model, beta=0.1), BOUNDS, q=1, num_restarts=4, raw_samples=64)
    np.testing.assert_allclose(point.numpy(), [[1.0, 1.0]], atol=0.15)


def test_noisy_expected_improvement_with_a_batch_of_points(model: RobustGP) -> None:
    acquisition = qLogNoisyExpectedImprovement(model, data()[0])
    points, value = optimize_acqf(acquisition, BOUNDS, q=2, num_restarts=2, raw_samples=32)
    assert points.shape == (2, 2)
    assert torch.isfinite(value)


def test_knowledge_gradient_fantasises_on_it(model: RobustGP) -> None:
    acquisition = qKnowledgeGradient(model, num_fantasies=4)
    points, value = optimize_acqf(acquisition, BOUNDS, q=1, num_restarts=2, raw_samples=8)
    assert points.shape == (1, 2)
    assert torch.isfinite(value)


def test_batches_joint_covariance_and_gradients(model: RobustGP) -> None:
    X = torch.rand(4, 3, 2, dtype=torch.float64, requires_grad=True)
    posterior = model.posterior(X)
    assert posterior.mean.shape == (4, 3, 1)
    assert posterior.distribution.covariance_matrix.shape == (4, 3, 3)
    single = model.posterior(X[1, 2].unsqueeze(0))
    torch.testing.assert_close(single.mean[0], posterior.mean[1, 2])
    torch.testing.assert_close(single.variance[0], posterior.variance[1, 2], atol=1e-9, rtol=1e-6)
    torch.autograd.gradcheck(lambda x: model.posterior(x).mean, (X[:1, :1].detach().requires_grad_(),))
    noisy = model.posterior(X, observation_noise=True)
    torch.testing.assert_close(noisy.variance - posterior.variance, model.noise.expand(4, 3, 1))


def test_conditioning_equals_a_model_on_all_rows() -> None:
    X, Y = data()
    Y = Y.nan_to_num(0.0, 0.0, 0.0).clamp(-3, 3)
    options = {"weight": PlateauIMQ(0.8, 0.5), "noise": 0.01}
    part = RobustGP(X[:12], Y[:12], **options)
    trusted = PlateauIMQ(torch.tensor([0.8] * 12 + [1e9] * 6, dtype=torch.float64), 0.5)
    whole = RobustGP(X, Y, weight=trusted, noise=0.01, covar_module=part.covar_module)
    tests = torch.rand(5, 2, dtype=torch.float64)
    grown = part.condition_on_observations(X[12:], Y[12:])
    torch.testing.assert_close(grown.posterior(tests).mean, whole.posterior(tests).mean)
    torch.testing.assert_close(grown.posterior(tests).variance, whole.posterior(tests).variance)


def test_pending_points_leave_the_mean_and_shrink_the_variance(model: RobustGP) -> None:
    tests = torch.rand(20, 2, dtype=torch.float64)
    waiting = model.with_pending(tests[:3])
    torch.testing.assert_close(waiting.posterior(tests).mean, model.posterior(tests).mean, atol=1e-8, rtol=0)
    assert (waiting.posterior(tests).variance < model.posterior(tests).variance).all()


def test_transforms_are_undone() -> None:
    X, Y = data()
    Y = Y.nan_to_num(0.0, 0.0, 0.0).clamp(-3, 3)
    shifted = RobustGP(10 + 5 * X, 100 + 20 * Y, outcome_transform=Standardize(1), input_transform=Normalize(2))
    plain = RobustGP(X, Y, outcome_transform=Standardize(1), input_transform=Normalize(2))
    tests = torch.rand(7, 2, dtype=torch.float64)
    expected = plain.posterior(tests)
    actual = shifted.posterior(10 + 5 * tests)
    torch.testing.assert_close(actual.mean, 100 + 20 * expected.mean)
    torch.testing.assert_close(actual.variance, 400 * expected.variance)


def test_it_is_the_model_inside_the_optimizer(model: RobustGP) -> None:
    X, Y = data()
    optimizer = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=5)
    for x, y in zip(X.numpy(), Y[:, 0].tolist(), strict=True):
        optimizer.tell(x, y)
    tests = torch.rand(50, 2, dtype=torch.float64)
    ours, theirs = optimizer.posterior(tests.numpy()), model.posterior(tests)
    np.testing.assert_allclose(ours.mean, theirs.mean.detach().squeeze(-1), atol=1e-8)
    np.testing.assert_allclose(ours.std, theirs.variance.detach().sqrt().squeeze(-1), atol=1e-8)
    np.testing.assert_allclose(optimizer.weights(), model.weights, atol=1e-12)


def test_fit_raises_the_score_and_a_failed_one_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    X, Y = data()
    model = RobustGP(X, Y, weight=PlateauIMQ(1.0, 1.0))
    before = float(model.score().detach())
    assert model.fit()
    assert float(model.score().detach()) > before
    kept = float(model.noise.detach())
    model.score = lambda power: torch.tensor(float("nan"), dtype=torch.float64) * model.noise  # type: ignore[method-assign]
    with caplog.at_level(logging.WARNING):
        assert not model.fit()
    assert float(model.noise.detach()) == kept
    assert "last good parameters stay" in caplog.text


def test_a_saved_model_is_restored(model: RobustGP) -> None:
    other = RobustGP.robust(data()[0], data()[1] * 2)
    other.load_state_dict(model.state_dict())
    tests = torch.rand(5, 2, dtype=torch.float64)
    torch.testing.assert_close(other.posterior(tests).mean, model.posterior(tests).mean)


def test_a_model_saved_under_the_earlier_names_is_restored(model: RobustGP) -> None:
    earlier = {"_noise_inflation": "_factor", "_target_shift": "_shift"}
    saved = {earlier.get(name, name): value for name, value in model.state_dict().items()}
    assert {"_factor", "_shift"} <= set(saved)
    other = RobustGP.robust(data()[0], data()[1] * 2)
    other.load_state_dict(saved)
    torch.testing.assert_close(other.weights, model.weights)


def test_options_are_those_of_the_algorithm() -> None:
    with pytest.raises(ValueError, match="widht.*did you mean 'width'"):
        RobustGP.robust(*data(), widht=2.0)


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(ValueError, match=r"\(18, 2\) and \(17, 1\)"):
        RobustGP(data()[0], data()[1][:-1])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_it_runs_where_its_data_live() -> None:
    X, Y = (value.cuda() for value in data())
    assert RobustGP.robust(X, Y).posterior(X).mean.device.type == "cuda"


def test_outcomes_that_bring_their_own_variance_equal_the_optimizer_told_of_standard_errors() -> None:
    X, Y = data()
    error = torch.linspace(0.0, 0.3, len(Y), dtype=torch.float64)
    optimizer = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=4)
    for x, y, e in zip(X, Y, error, strict=True):
        optimizer.tell(x.numpy(), float(y), standard_error=float(e))
    model = RobustGP.robust(X, Y, error[:, None] ** 2)
    told, posterior = optimizer.posterior(X.numpy()), model.posterior(X)
    np.testing.assert_allclose(posterior.mean.squeeze(-1).detach(), told.mean, atol=1e-8)
    np.testing.assert_allclose(posterior.variance.sqrt().squeeze(-1).detach(), told.std, atol=1e-8)
    plain = RobustGP.robust(X, Y).posterior(X)
    assert not torch.allclose(plain.mean, posterior.mean, atol=1e-3)
    conditioned = model.condition_on_observations(X[:1], Y[:1])
    assert torch.isfinite(conditioned.posterior(X).mean).all()


def test_a_variance_of_another_shape_is_refused() -> None:
    X, Y = data()
    with pytest.raises(ValueError, match="train_Yvar"):
        RobustGP(X, Y, torch.ones(3, 1, dtype=torch.float64))
