"""One training run: what diverges scores chance, and precision, augmentation, schedule and decay do what they say."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from objectives.resnet import ResNet
from objectives.training import CHANCE, Recipe, Run, augment, make_schedule, make_torch_optimizer, random_crop, train

TINY = ResNet(train_size=256, val_size=200, epochs=2, widths=(4, 8))
GOOD = np.array([0.75, 0.5])
RECIPE = Recipe(
    learning_rate=1e-2,
    weight_decay=0.0,
    optimizer="sgd",
    schedule="constant",
    epochs=2,
    batch_size=64,
    augment="none",
    precision="float32",
    channels_last=False,
)


def test_mixed_precision_is_really_on() -> None:
    seen = []
    objective = replace(TINY, precision="bfloat16", epochs=1)
    images = objective._images()
    network = objective._network(images, seed=0)
    network.register_forward_hook(lambda _, __, output: seen.append(output.dtype))
    train(network, images, objective._recipe(objective.space.to_units(GOOD)), seed=0)
    assert set(seen) == {torch.bfloat16}


def test_divergence_scores_chance_and_ends_the_run() -> None:
    steps: list[tuple[int, float]] = []
    images = TINY._images()
    network = TINY._network(images, seed=0)
    recipe = replace(RECIPE, learning_rate=1e30, epochs=5)
    assert train(network, images, recipe, 0, lambda *step: steps.append(step)) == CHANCE == 0.1
    assert steps == [(1, CHANCE)]


def test_a_network_that_answers_nan_scores_chance() -> None:
    images = TINY._images()
    recipe = replace(RECIPE, learning_rate=1e38, batch_size=256)
    run = Run(TINY._network(images, seed=0), images, recipe, torch.Generator().manual_seed(0))
    run.epoch(measure=False)  # one enormous step: the loss before it is finite, the answers after it are not
    assert not run.diverged
    assert run.accuracy() == CHANCE
    assert run.diverged


def test_crops_are_windows_of_the_padded_image() -> None:
    x = torch.rand(50, 2, 8, 8)
    cropped = random_crop(x, 1, torch.Generator().manual_seed(0))
    padded = torch.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect")
    shifts = set()
    for image, source in zip(cropped, padded, strict=True):
        windows = {(i, j): source[:, i : i + 8, j : j + 8] for i in range(3) for j in range(3)}
        found = [shift for shift, window in windows.items() if torch.equal(window, image)]
        assert found
        shifts.add(found[0])
    assert len(shifts) == 9


def test_flips_mirror_some_images_and_leave_the_others() -> None:
    x = torch.rand(40, 1, 8, 8)
    x = torch.cat([x[..., :4], x[..., :4].flip(3)], dim=3)  # mirror-symmetric, so only crops may change it
    x[..., 0] = 2.0  # and now not quite
    flipped = augment(x, "crop-flip", torch.Generator().manual_seed(0))
    assert flipped.shape == x.shape
    assert 5 < (flipped[..., -2:] == 2.0).any(dim=(1, 2, 3)).sum() < 35


@pytest.mark.parametrize(("schedule", "expected"), [("cosine", 0.0), ("onecycle", 4e-8), ("constant", 1e-2)])
def test_schedules_end_where_they_should(schedule: str, expected: float) -> None:
    recipe = replace(RECIPE, schedule=schedule)
    optimizer = make_torch_optimizer(torch.nn.Linear(1, 1), recipe)
    steps = make_schedule(optimizer, recipe, 10)
    for _ in range(9 if schedule == "onecycle" else 10):
        optimizer.step()
        if steps is not None:
            steps.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(expected, abs=1e-9)


def test_weight_decay_reaches_the_optimizer() -> None:
    for name in ("adam", "adamw", "sgd"):
        optimizer = make_torch_optimizer(torch.nn.Linear(1, 1), replace(RECIPE, optimizer=name, weight_decay=0.5))
        assert optimizer.param_groups[0]["weight_decay"] == 0.5
        assert type(optimizer).__name__.lower() == name
