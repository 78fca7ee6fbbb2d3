"""The data: digits for real, CIFAR-10 from tiny files in its two genuine formats, and the words when it is missing."""

import hashlib
import pickle
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import torch

from objectives import datasets, make_objective, prepare
from objectives.datasets import Images, Source, load, mislabel

PER_BATCH = 20
DIGITS = Source("digits", "unused", False, None, None, 0.0, "cpu")


def cifar(folder: Path, **changes: object) -> Source:
    return replace(Source("cifar10", str(folder), False, None, None, 0.0, "cpu"), **changes)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def forgetful() -> None:
    load.cache_clear()


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (6, PER_BATCH, 3, 32, 32), dtype=np.uint8)


@pytest.fixture
def labels() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 10, (6, PER_BATCH), dtype=np.uint8)


@pytest.fixture
def binary(tmp_path: Path, images: np.ndarray, labels: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> Path:
    """cifar-10-batches-bin as the official archive lays it out, only shorter (so with other checksums)."""
    folder = tmp_path / "binary" / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    for name, x, y in zip(datasets.CIFAR10_MD5, images, labels, strict=True):
        record = np.concatenate([y[:, None], x.reshape(PER_BATCH, 3072)], axis=1).tobytes()
        (folder / name).write_bytes(record)
        monkeypatch.setitem(datasets.CIFAR10_MD5, name, hashlib.md5(record).hexdigest())
    return folder.parent


@pytest.fixture
def python(tmp_path: Path, images: np.ndarray, labels: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> Path:
    """cifar-10-batches-py as the official archive lays it out, only shorter (so with other checksums)."""
    from torchvision.datasets import CIFAR10

    folder = tmp_path / "python" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    names = [*(name for name, _ in CIFAR10.train_list), *(name for name, _ in CIFAR10.test_list)]
    content = {
        name: {"data": x.reshape(PER_BATCH, 3072), "labels": y.tolist()}
        for name, x, y in zip(names, images, labels, strict=True)
    }
    content["batches.meta"] = {"label_names": [str(c) for c in range(10)]}
    sums = {}
    for name, batch in content.items():
        (folder / name).write_bytes(pickle.dumps(batch))
        sums[name] = hashlib.md5((folder / name).read_bytes()).hexdigest()
    monkeypatch.setattr(CIFAR10, "train_list", [[n, sums[n]] for n in names[:5]])
    monkeypatch.setattr(CIFAR10, "test_list", [[names[5], sums[names[5]]]])
    monkeypatch.setattr(CIFAR10, "meta", {**CIFAR10.meta, "md5": sums["batches.meta"]})
    return folder.parent


def assert_holds(found: Images, images: np.ndarray, labels: np.ndarray) -> None:
    np.testing.assert_array_equal(found.x_train, images[:5].reshape(-1, 3, 32, 32))
    np.testing.assert_array_equal(found.y_train, labels[:5].reshape(-1))
    np.testing.assert_array_equal(found.x_val, images[5])
    np.testing.assert_array_equal(found.y_val, labels[5])
    assert found.x_train.dtype == torch.uint8


def test_digits_are_split_once_and_for_all() -> None:
    found = load(DIGITS)
    assert found.x_train.shape == (1437, 1, 8, 8)
    assert found.x_val.shape == (360, 1, 8, 8)
    assert found.x_train.max() == 255
    assert set(found.y_train.tolist()) == set(range(10))
    first = found.y_val[:20].tolist()
    load.cache_clear()
    assert load(DIGITS).y_val[:20].tolist() == first


def test_normalisation_uses_the_training_images() -> None:
    found = load(DIGITS)
    scaled = (found.x_train.float() / 255 - found.mean) / found.std
    assert scaled.mean() == pytest.approx(0, abs=1e-5)
    assert scaled.std() == pytest.approx(1, abs=1e-4)


def test_the_binary_release_is_read_as_it_is(binary: Path, images: np.ndarray, labels: np.ndarray) -> None:
    assert_holds(load(cifar(binary)), images, labels)


def test_the_python_release_is_read_as_it_is(python: Path, images: np.ndarray, labels: np.ndarray) -> None:
    assert_holds(load(cifar(python)), images, labels)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A web server that offers the files of `tmp_path`."""
    monkeypatch.setenv("no_proxy", "*")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_port}"
        site.shutdown()


def test_torchvision_can_download_it(
    python: Path, server: str, tmp_path: Path, images: np.ndarray, labels: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torchvision.datasets import CIFAR10

    archive = tmp_path / "cifar-10-python.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(python / "cifar-10-batches-py", "cifar-10-batches-py")
    monkeypatch.setattr(CIFAR10, "url", f"{server}/{archive.name}")
    monkeypatch.setattr(CIFAR10, "tgz_md5", hashlib.md5(archive.read_bytes()).hexdigest())
    assert_holds(load(cifar(tmp_path / "fresh", download=True)), images, labels)


def test_a_failed_download_says_so(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchvision.datasets import CIFAR10

    monkeypatch.setattr(CIFAR10, "url", f"{server}/nothing.tar.gz")
    with pytest.raises(FileNotFoundError, match=f"could not provide CIFAR-10 under {tmp_path}"):
        load(cifar(tmp_path, download=True))


def test_missing_data_is_one_line_saying_which_where_and_how(tmp_path: Path) -> None:
    objective = make_objective("resnet", dataset="cifar10", data_dir=str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"looked for .*cifar-10-batches-bin.*download=True") as refusal:
        prepare(objective)
    assert str(tmp_path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_missing_batch_is_named(binary: Path) -> None:
    (binary / "cifar-10-batches-bin" / "data_batch_3.bin").unlink()
    with pytest.raises(FileNotFoundError, match=r"data_batch_3\.bin is missing"):
        load(cifar(binary))


def test_a_flipped_byte_is_found(binary: Path) -> None:
    path = binary / "cifar-10-batches-bin" / "test_batch.bin"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"test_batch\.bin is not the official file: MD5"):
        load(cifar(binary))


def test_damage_in_the_python_release_is_found(python: Path) -> None:
    (python / "cifar-10-batches-py" / "data_batch_2").write_bytes(b"damaged")
    with pytest.raises(FileNotFoundError, match="corrupted"):
        load(cifar(python))


def test_subsets_are_the_first_images(binary: Path, images: np.ndarray) -> None:
    found = load(cifar(binary, train_size=7, val_size=3))
    np.testing.assert_array_equal(found.x_train, images[0, :7])
    np.testing.assert_array_equal(found.x_val, images[5, :3])
    with pytest.raises(ValueError, match=r"val_size is 21, but there are only 20"):
        load(cifar(binary, val_size=21))


def test_data_is_loaded_once_per_process(binary: Path) -> None:
    options = {"dataset": "cifar10", "data_dir": str(binary), "widths": [4], "epochs": 1}
    for weight_decay in (0.1, 0.9):
        objective = make_objective("resnet", **options)
        objective.evaluate(np.array([0.5, weight_decay]), np.random.default_rng(0))
    assert load.cache_info().misses == 1
    assert load.cache_info().hits == 1


def test_label_noise_moves_exactly_its_share_and_always_the_same_labels() -> None:
    labels = np.arange(1000, dtype=np.uint8) % 10
    moved = mislabel(labels, 0.25)
    assert (moved != labels).sum() == 250
    assert moved.max() <= 9
    np.testing.assert_array_equal(mislabel(labels, 0.25), moved)
    np.testing.assert_array_equal(mislabel(labels, 0.0), labels)
    clean, noisy = load(DIGITS), load(replace(DIGITS, label_noise=0.5))
    assert (clean.y_train != noisy.y_train).float().mean() == pytest.approx(0.5, abs=1e-3)
    assert torch.equal(clean.y_val, noisy.y_val)
