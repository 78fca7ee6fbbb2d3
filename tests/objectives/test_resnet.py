"""The ResNet: it learns, it diverges into a defined value, every option does something, the global state stays."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from objectives import make_objective
from objectives.datasets import load
from objectives.networks import resnet18, small_resnet
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


def value(objective: ResNet, x: np.ndarray = GOOD, seed: int = 0) -> float:
    return objective.evaluate(x, np.random.default_rng(seed))


def test_the_learning_rate_decides_between_chance_and_success() -> None:
    objective = ResNet()
    assert value(objective, np.array([0.0, 0.5])) < 0.25
    assert value(objective) > 0.97


def test_another_seed_is_another_training_run() -> None:
    middling = np.array([0.5, 0.5])
    assert len({value(TINY, middling, seed) for seed in range(4)}) > 1


@pytest.mark.parametrize(
    "change",
    [
        {"optimizer": "adamw"},
        {"optimizer": "sgd"},
        {"schedule": "constant"},
        {"schedule": "onecycle"},
        {"augment": "crop"},
        {"augment": "crop-flip"},
        {"label_noise": 0.5},
        {"batch_size": 100},
        {"epochs": 3},
        {"train_size": 200},
        {"widths": (8, 8)},
        {"blocks": 2},
        {"stem_stride": 2},
    ],
)
def test_every_option_changes_the_run_and_stays_deterministic(change: dict[str, Any]) -> None:
    x = np.array([0.6, 0.9])
    losses = [run_history(replace(TINY, **options), x) for options in ({}, change, change)]
    assert losses[0] != losses[1]
    assert losses[1] == losses[2]


def run_history(objective: ResNet, x: np.ndarray) -> list[float]:
    """The logits on a few validation images after training: finer than an accuracy."""
    images = objective._images()
    network = objective._network(images, seed=1)
    train(network, images, objective._recipe(objective.space.to_units(x)), seed=2)
    return network(images.x_val[:3].float() / 255).detach().flatten().tolist()


@pytest.mark.parametrize(("precision", "channels_last"), [("bfloat16", False), ("float16", True)])
def test_mixed_precision_learns_with_the_same_code(precision: str, channels_last: bool) -> None:
    objective = ResNet(precision=precision, channels_last=channels_last, train_size=600, epochs=3)
    assert value(objective) > 0.8


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


def test_progress_can_stop_the_run_and_leaves_the_threads_alone() -> None:
    class Stop(Exception):
        pass

    def stop(step: int, accuracy: float) -> None:
        assert 0 <= accuracy <= 1
        raise Stop

    before = torch.get_num_threads()
    with pytest.raises(Stop):
        replace(TINY, threads=before + 1).evaluate(GOOD, np.random.default_rng(0), stop)
    assert torch.get_num_threads() == before


def test_an_evaluation_uses_the_threads_it_asked_for() -> None:
    seen: list[int] = []
    objective = replace(TINY, threads=2, epochs=1)
    objective.evaluate(GOOD, np.random.default_rng(0), lambda *_: seen.append(torch.get_num_threads()))
    assert seen == [2]
    assert objective.resources.cpus == 2


def test_a_gpu_is_asked_for_only_when_it_is_used() -> None:
    assert ResNet(device="cuda:0", gpu_share=0.25).resources.gpus == 0.25
    assert ResNet(gpu_share=0.25).resources.gpus == 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
@pytest.mark.parametrize("device", ["cuda", "tpu-of-my-own"])
def test_a_device_that_is_not_here_is_one_clear_line(device: str) -> None:
    with pytest.raises(ValueError, match=f"device '{device}' cannot be used here") as refusal:
        value(ResNet(device=device))
    assert "\n" not in str(refusal.value)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_same_code_learns_on_a_gpu() -> None:
    assert value(ResNet(device="cuda", precision="float16")) > 0.95


def test_no_cuda_call_happens_at_import_or_on_cpu() -> None:
    code = (
        "import numpy as np, torch, objectives, objectives.training;"
        "boom = lambda *a, **k: (_ for _ in ()).throw(AssertionError('CUDA was touched'));"
        "torch.cuda._lazy_init = boom;"
        "o = objectives.make_objective('resnet', train_size=64, val_size=10, epochs=1, widths=[4]);"
        "o.evaluate(np.array([0.5, 0.5]), np.random.default_rng(0)); print(torch.cuda.is_initialized())"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


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


def test_resnet18_has_a_stem_for_small_images() -> None:
    network = resnet18(3, 10)
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
    assert network.layer1(network.maxpool(network.conv1(torch.zeros(1, 3, 32, 32)))).shape == (1, 64, 32, 32)  # type: ignore[operator]
    assert sum(p.numel() for p in network.parameters()) == 11_173_962  # the CIFAR ResNet-18 of the literature


def test_resnet18_trains() -> None:
    assert 0 <= value(replace(TINY, architecture="resnet18", train_size=32, val_size=50, epochs=1)) <= 1


def test_small_networks_halve_the_image_stage_by_stage() -> None:
    network = small_resnet(3, 10, widths=(4, 8, 16), blocks=2, stem_stride=2)
    features = network[:-3](torch.zeros(2, 3, 32, 32))  # type: ignore[index]
    assert features.shape == (2, 16, 4, 4)
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


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


def test_the_data_folder_is_absolute_so_that_a_trial_may_run_anywhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert make_objective("resnet", data_dir="here").describe()["options"]["data_dir"] == str(tmp_path / "here")
    assert not ResNet().data_dir.startswith("~")


def test_images_are_on_the_device_as_bytes() -> None:
    images = load(TINY._source())
    assert images.x_train.dtype == torch.uint8
    assert images.y_train.dtype == torch.int64
