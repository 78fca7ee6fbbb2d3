"""The ResNet: it learns, it diverges into a defined value, every option does something, the global state stays."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from objectives.datasets import load
from objectives.resnet import ResNet
from objectives.training import train

TINY = ResNet(train_size=256, val_size=200, epochs=2, widths=(4, 8))
GOOD = np.array([0.75, 0.5])


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
    assert str(refusal.value).endswith("device 'cpu' works everywhere."), "the remedy"


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


def test_resnet18_trains() -> None:
    assert 0 <= value(replace(TINY, architecture="resnet18", train_size=32, val_size=50, epochs=1)) <= 1


def test_the_data_folder_is_absolute_so_that_a_trial_may_run_anywhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ResNet(data_dir="here").data_dir == str(tmp_path / "here")
    assert not ResNet().data_dir.startswith("~")


def test_images_are_on_the_device_as_bytes() -> None:
    images = load(TINY._source())
    assert images.x_train.dtype == torch.uint8
    assert images.y_train.dtype == torch.int64
