"""Residual networks for small images: by widths and blocks, or torchvision's ResNet-18 with a CIFAR stem."""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn


class Block(nn.Module):
    """Two 3x3 convolutions around a shortcut: relu(x + g(x)), `n x c_in x h x w` -> `n x c_out x h/s x w/s`."""

    def __init__(self, c_in: int, c_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(c_out)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(c_out)
        self.shortcut = _projection(c_in, c_out, stride)

    def forward(self, x: Tensor) -> Tensor:
        """relu(x + g(x))."""
        h = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.shortcut(x) + self.norm2(self.conv2(h)))


def _projection(c_in: int, c_out: int, stride: int) -> nn.Module:
    """The identity where shapes agree, else a 1x1 convolution."""
    if stride == 1 and c_in == c_out:
        return nn.Identity()
    return nn.Sequential(nn.Conv2d(c_in, c_out, 1, stride, bias=False), nn.BatchNorm2d(c_out))


def small_resnet(channels: int, classes: int, widths: Sequence[int], blocks: int, stem_stride: int) -> nn.Module:
    """A stem, a stage of `blocks` blocks per width (each later one halves the image), mean pooling, a head."""
    stem = nn.Conv2d(channels, widths[0], 3, stem_stride, 1, bias=False)
    layers: list[nn.Module] = [stem, nn.BatchNorm2d(widths[0]), nn.ReLU()]
    c_in = widths[0]
    for stage, width in enumerate(widths):
        for block in range(blocks):
            layers.append(Block(c_in, width, stride=2 if stage and not block else 1))
            c_in = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c_in, classes))


def resnet18(channels: int, classes: int) -> nn.Module:
    """torchvision's ResNet-18 with a stem for 32x32 images: a 3x3 convolution of stride 1, no pooling."""
    from torchvision.models import resnet18 as torchvision_resnet18

    network: nn.Module = torchvision_resnet18(num_classes=classes)
    network.conv1 = nn.Conv2d(channels, 64, 3, 1, 1, bias=False)
    network.maxpool = nn.Identity()
    return network
