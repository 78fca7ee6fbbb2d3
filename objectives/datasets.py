"""Image data as tensors on the device, loaded once per process; missing data is an error, never a substitute."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

CLASSES = 10
CIFAR10_MD5 = {
    "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
    "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
}
"""The official binary release (cifar-10-binary.tar.gz), file by file."""

Pixels = NDArray[np.uint8]
Arrays = tuple[Pixels, Pixels, Pixels, Pixels]
"""Training images, training labels, validation images, validation labels; images are `n x c x h x w`."""


@dataclass(frozen=True)
class Source:
    """Which data, which part of it and where to put it; the key of the cache."""

    dataset: str
    data_dir: str
    download: bool
    train_size: int | None
    val_size: int | None
    label_noise: float
    device: str


@dataclass(frozen=True, eq=False)
class Images:
    """Images as uint8 `n x c x h x w` and labels as int64 `n`, on the device, with channel statistics."""

    x_train: Tensor
    y_train: Tensor
    x_val: Tensor
    y_val: Tensor
    mean: Tensor
    std: Tensor

    @property
    def channels(self) -> int:
        """1 for grey images, 3 for colour."""
        return self.x_train.shape[1]


@lru_cache(maxsize=4)
def load(source: Source) -> Images:
    """The images of `source`, on its device; the second call in a process is free."""
    x_train, y_train, x_val, y_val = DATASETS[source.dataset](source)
    x_train, y_train = _first(source.train_size, "train_size", x_train, y_train)
    x_val, y_val = _first(source.val_size, "val_size", x_val, y_val)
    y_train = mislabel(y_train, source.label_noise)
    mean, std = (torch.tensor(s, dtype=torch.float32, device=source.device) for s in _statistics(x_train))
    images = (torch.from_numpy(x).to(source.device) for x in (x_train, x_val))
    labels = (torch.from_numpy(y.astype(np.int64)).to(source.device) for y in (y_train, y_val))
    return Images(next(images), next(labels), next(images), next(labels), mean, std)


def _statistics(x: Pixels) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation per channel, `1 x c x 1 x 1`, without a copy of the images in floating point."""
    mean = x.mean((0, 2, 3), np.float64, keepdims=True)
    squares = np.square(x, dtype=np.uint16).mean((0, 2, 3), np.float64, keepdims=True)
    return mean / 255, np.sqrt(squares - mean**2) / 255


def mislabel(labels: Pixels, share: float) -> Pixels:
    """The same labels with this share of them moved to another class: always the same ones, as bad data would be."""
    rng = np.random.default_rng(0)
    wrong = rng.permutation(len(labels))[: round(share * len(labels))]
    moved = labels.copy()
    moved[wrong] = (labels[wrong] + rng.integers(1, CLASSES, len(wrong))) % CLASSES
    return moved


def load_digits(source: Source) -> Arrays:
    """scikit-learn's 1,797 digits of 8 x 8 pixels: 1,437 to train on, 360 to validate, always the same."""
    from sklearn.datasets import load_digits as sklearn_digits

    digits = sklearn_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = np.round(digits.images[order] * (255 / 16)).astype(np.uint8)[:, None]
    labels = digits.target[order].astype(np.uint8)
    return images[:1437], labels[:1437], images[1437:], labels[1437:]


def load_cifar10(source: Source) -> Arrays:
    """CIFAR-10, 50,000 and 10,000 images of 3 x 32 x 32: the binary release if it is there, else torchvision's."""
    root = Path(source.data_dir).expanduser()
    binary = root / "cifar-10-batches-bin"
    if binary.is_dir():
        return _cifar10_binary(binary)
    if source.download or (root / "cifar-10-batches-py").is_dir():
        return _cifar10_torchvision(root, source.download)
    raise FileNotFoundError(
        f"CIFAR-10 is missing: looked for {binary} and {root / 'cifar-10-batches-py'}. Set download=True, or unpack"
        " cifar-10-binary.tar.gz (https://www.cs.toronto.edu/~kriz/cifar.html) there, or point data_dir at it."
    )


def _cifar10_binary(folder: Path) -> Arrays:
    """The official binary release: records of one label byte and 3,072 pixel bytes."""
    batches = [_read_batch(folder / name, md5) for name, md5 in CIFAR10_MD5.items()]
    records = np.concatenate(batches[:-1])
    return (*_split_records(records), *_split_records(batches[-1]))


def _read_batch(path: Path, md5: str) -> Pixels:
    if not path.is_file():
        raise FileNotFoundError(f"CIFAR-10 is incomplete: {path} is missing. Unpack cifar-10-binary.tar.gz again.")
    content = path.read_bytes()
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found != md5:
        raise ValueError(f"{path} is not the official file: MD5 {found}, expected {md5}. Unpack the archive again.")
    return np.frombuffer(content, dtype=np.uint8).reshape(-1, 3073)


def _split_records(records: Pixels) -> tuple[Pixels, Pixels]:
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]


def _cifar10_torchvision(root: Path, download: bool) -> Arrays:
    """The release torchvision reads, verifies and can download."""
    from torchvision.datasets import CIFAR10

    try:
        parts = [CIFAR10(root, train=train, download=download) for train in (True, False)]
    except (RuntimeError, OSError) as error:
        raise FileNotFoundError(f"torchvision could not provide CIFAR-10 under {root}: {error}") from error
    images = [np.ascontiguousarray(p.data.transpose(0, 3, 1, 2)) for p in parts]
    labels = [np.array(p.targets, dtype=np.uint8) for p in parts]
    return images[0], labels[0], images[1], labels[1]


def _first(size: int | None, name: str, images: Pixels, labels: Pixels) -> tuple[Pixels, Pixels]:
    if size is not None and size > len(labels):
        raise ValueError(f"{name} is {size}, but there are only {len(labels)} images.")
    return images[:size].copy(), labels[:size]


DATASETS: dict[str, Callable[[Source], Arrays]] = {"digits": load_digits, "cifar10": load_cifar10}
