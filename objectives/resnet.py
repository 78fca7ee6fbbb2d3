"""`resnet`: the validation accuracy of a ResNet as a function of learning rate and weight decay."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from objectives.base import ObjectiveBase
from objectives.parameters import Parameter
from objectives.protocol import Progress, Resources
from objectives.space import Space

if TYPE_CHECKING:
    from torch import nn

    from objectives.datasets import Images, Source
    from objectives.training import Recipe

CHOICES = {
    "dataset": ("digits", "cifar10"),
    "architecture": ("small", "resnet18"),
    "optimizer": ("adam", "adamw", "sgd"),
    "schedule": ("cosine", "onecycle", "constant"),
    "augment": ("none", "crop", "crop-flip"),
    "precision": ("float32", "bfloat16", "float16"),
}
SPACE = Space((Parameter("learning_rate", 1e-5, 1e-1, log=True), Parameter("weight_decay", 1e-6, 1e-2, log=True)))


@dataclass(frozen=True, kw_only=True)
class ResNet(ObjectiveBase):
    """Train for some epochs, report validation accuracy in [0, 1]; a diverged run scores chance (0.1).

    The default is a small network on scikit-learn's digits, about a second on one core. The paper's setting is
    dataset="cifar10", architecture="resnet18", epochs=4, batch_size=128, augment="crop-flip", device="cuda".
    """

    name: ClassVar[str] = "resnet"

    dataset: str = "digits"
    data_dir: str = "~/.cache/rcgp-orchestrator"
    download: bool = False
    train_size: int | None = None
    val_size: int | None = None
    label_noise: float = 0.0
    architecture: str = "small"
    widths: tuple[int, ...] = (8, 16, 32)
    blocks: int = 1
    stem_stride: int = 1
    optimizer: str = "adam"
    schedule: str = "cosine"
    epochs: int = 4
    batch_size: int = 64
    augment: str = "none"
    device: str = "cpu"
    gpu_share: float = 1.0
    precision: str = "float32"
    channels_last: bool = True
    threads: int = 1

    def __post_init__(self) -> None:
        for option, allowed in CHOICES.items():
            if getattr(self, option) not in allowed:
                raise ValueError(
                    f"resnet: {option} must be one of {', '.join(allowed)}; got {getattr(self, option)!r}."
                )
        counts = {n: getattr(self, n) for n in ("blocks", "stem_stride", "epochs", "batch_size", "threads")}
        counts |= {n: v for n in ("train_size", "val_size") if (v := getattr(self, n)) is not None}
        for option, value in (*counts.items(), *(("widths", w) for w in self.widths or (0,))):
            if value < 1:
                raise ValueError(f"resnet: {option} must be at least 1, got {value}.")
        if not 0 <= self.label_noise <= 1 or not 0 < self.gpu_share <= 1:
            raise ValueError(f"resnet: label_noise and gpu_share are shares; got {self.label_noise}, {self.gpu_share}.")
        # Absolute from here on: a trial may run in another folder than the one this was written in.
        object.__setattr__(self, "data_dir", str(Path(self.data_dir).expanduser().absolute()))
        object.__setattr__(self, "widths", tuple(self.widths))

    @property
    def space(self) -> Space:
        """Learning rate in [1e-5, 1e-1] and weight decay in [1e-6, 1e-2], both on a log scale."""
        return SPACE

    @property
    def resources(self) -> Resources:
        """The threads it uses, and its share of a GPU when it runs on one."""
        return Resources(cpus=float(self.threads), gpus=self.gpu_share if self.device.startswith("cuda") else 0.0)

    @property
    def steps(self) -> int:
        """Its epochs."""
        return self.epochs

    def prepare(self) -> None:
        """Load the images, so that a missing data set or device shows before the first trial."""
        self._images()

    def evaluate(self, x: ArrayLike, rng: np.random.Generator, report: Progress | None = None) -> float:
        """Train once with weights, order and augmentation drawn from `rng`; reports the accuracy after every epoch."""
        from objectives.training import cpu_threads, train

        values = SPACE.to_units(x)
        weights_seed, data_seed = (int(s) for s in rng.integers(2**63, size=2))
        with cpu_threads(self.threads):
            images = self._images()
            return train(self._network(images, weights_seed), images, self._recipe(values), data_seed, report)

    def _images(self) -> "Images":
        from objectives.datasets import load

        return load(self._source())

    def _source(self) -> "Source":
        from objectives.datasets import Source

        device = _checked_device(self.device)
        sizes = (self.train_size, self.val_size)
        return Source(self.dataset, self.data_dir, self.download, *sizes, self.label_noise, device)

    def _network(self, images: "Images", seed: int) -> "nn.Module":
        from objectives.datasets import CLASSES
        from objectives.networks import resnet18, small_resnet
        from objectives.training import seeded_weights

        with seeded_weights(seed):
            if self.architecture == "resnet18":
                return resnet18(images.channels, CLASSES)
            return small_resnet(images.channels, CLASSES, self.widths, self.blocks, self.stem_stride)

    def _recipe(self, values: dict[str, float]) -> "Recipe":
        from objectives.training import Recipe

        names = ("optimizer", "schedule", "epochs", "batch_size", "augment", "precision", "channels_last")
        options: dict[str, Any] = {**values, **{n: getattr(self, n) for n in names}}
        return Recipe(**options)


def _checked_device(name: str) -> str:
    """`name`, if torch knows such a device and it is here."""
    import torch

    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"resnet: device {name!r} cannot be used here ({why}); device 'cpu' works everywhere."
        ) from error
    return name
