"""One training run: recipe and images in, validation accuracy out. The same code runs on CPU and GPU."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LRScheduler, OneCycleLR

from objectives.datasets import CLASSES, Images
from objectives.protocol import Progress

CHANCE = 1 / CLASSES
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class Recipe:
    """How to train: everything but the network, the images and the seed."""

    learning_rate: float
    weight_decay: float
    optimizer: str
    schedule: str
    epochs: int
    batch_size: int
    augment: str
    precision: str
    channels_last: bool


def train(network: nn.Module, images: Images, recipe: Recipe, seed: int, report: Progress | None = None) -> float:
    """Validation accuracy after the last epoch; chance accuracy when the run diverges."""
    run = Run(network, images, recipe, torch.Generator(images.x_train.device).manual_seed(seed))
    accuracy = CHANCE
    for epoch in range(1, recipe.epochs + 1):
        accuracy = run.epoch(measure=report is not None or epoch == recipe.epochs)
        if report is not None:
            report(epoch, accuracy)
        if run.diverged:
            return CHANCE
    return accuracy


class Run:
    """The moving parts of one training run."""

    def __init__(self, network: nn.Module, images: Images, recipe: Recipe, generator: torch.Generator) -> None:
        self.images, self.recipe, self.generator = images, recipe, generator
        self.layout = torch.channels_last if recipe.channels_last else torch.contiguous_format
        self.device = images.x_train.device
        self.network = network.to(self.device).to(memory_format=self.layout)
        self.batches = math.ceil(len(images.y_train) / recipe.batch_size)
        self.optimizer = make_torch_optimizer(network, recipe)
        self.schedule = make_schedule(self.optimizer, recipe, self.batches * recipe.epochs)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=recipe.precision == "float16")
        self.diverged = False

    def epoch(self, measure: bool) -> float:
        """One pass over the training images; then, if asked to `measure`, the validation accuracy."""
        self.network.train()
        order = torch.randperm(len(self.images.y_train), generator=self.generator, device=self.device)
        total = torch.zeros((), device=self.device)
        for batch in torch.split(order, self.recipe.batch_size):
            total += self.step(batch)
        self.diverged = not bool(total.isfinite())  # looked at once per epoch: each look waits for the GPU
        return CHANCE if self.diverged or not measure else self.accuracy()

    def step(self, batch: Tensor) -> Tensor:
        """One gradient step on the images numbered `batch`; the loss, still on the device."""
        x = augment(self.pixels(self.images.x_train[batch]), self.recipe.augment, self.generator)
        with self.autocast():
            loss = F.cross_entropy(self.network(x), self.images.y_train[batch])
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.schedule is not None:
            self.schedule.step()
        return loss.detach().float()

    @torch.no_grad()
    def accuracy(self) -> float:
        """The share of validation images classified correctly."""
        self.network.eval()
        correct = torch.zeros((), dtype=torch.int64, device=self.device)
        for x, y in zip(torch.split(self.images.x_val, 1000), torch.split(self.images.y_val, 1000), strict=True):
            with self.autocast():
                logits = self.network(self.pixels(x))
            correct += (logits.argmax(1) == y).sum()
            self.diverged |= not bool(logits.isfinite().all())
        return CHANCE if self.diverged else float(correct) / len(self.images.y_val)

    def pixels(self, x: Tensor) -> Tensor:
        """uint8 `n x c x h x w` -> normalised float32 of the same shape."""
        return ((x.float() / 255 - self.images.mean) / self.images.std).contiguous(memory_format=self.layout)

    def autocast(self) -> torch.autocast:
        """Mixed precision, or a no-op in float32."""
        dtype = PRECISIONS[self.recipe.precision]
        return torch.autocast(self.device.type, dtype=dtype, enabled=dtype != torch.float32)


def make_torch_optimizer(network: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Adam, AdamW, or SGD with Nesterov momentum 0.9."""
    parameters, lr, decay = network.parameters(), recipe.learning_rate, recipe.weight_decay
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=lr, weight_decay=decay, momentum=0.9, nesterov=True, fused=True)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[recipe.optimizer]
    return kind(parameters, lr=lr, weight_decay=decay, fused=True)


def make_schedule(optimizer: torch.optim.Optimizer, recipe: Recipe, steps: int) -> LRScheduler | None:
    """The learning rate over all steps of the run; None keeps it constant."""
    if recipe.schedule == "cosine":
        return CosineAnnealingLR(optimizer, T_max=steps)
    return OneCycleLR(optimizer, recipe.learning_rate, total_steps=steps) if recipe.schedule == "onecycle" else None


def augment(x: Tensor, kind: str, generator: torch.Generator) -> Tensor:
    """Random crops ("crop"), or crops and mirror images ("crop-flip"), on the device; shapes stay."""
    if kind == "none":
        return x
    cropped = random_crop(x, x.shape[-1] // 8, generator)
    return random_flip(cropped, generator) if kind == "crop-flip" else cropped


def random_crop(x: Tensor, margin: int, generator: torch.Generator) -> Tensor:
    """Each image moved by up to `margin` pixels, its border reflected."""
    n, _, height, width = x.shape
    padded = F.pad(x, (margin,) * 4, mode="reflect").permute(0, 2, 3, 1)
    shift = torch.randint(0, 2 * margin + 1, (2, n, 1, 1), generator=generator, device=x.device)
    rows = shift[0] + torch.arange(height, device=x.device).reshape(1, -1, 1)
    columns = shift[1] + torch.arange(width, device=x.device).reshape(1, 1, -1)
    image = torch.arange(n, device=x.device).reshape(-1, 1, 1)
    return padded[image, rows, columns].permute(0, 3, 1, 2)


def random_flip(x: Tensor, generator: torch.Generator) -> Tensor:
    """Every other image mirrored, at random."""
    mirror = torch.rand((len(x), 1, 1, 1), generator=generator, device=x.device) < 0.5
    return torch.where(mirror, x.flip(3), x)


@contextmanager
def cpu_threads(count: int) -> Iterator[None]:
    """`count` threads inside, what there was before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def seeded_weights(seed: int) -> Iterator[None]:
    """Seed the global CPU generator that torch's initialisers draw from, and put it back afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield
