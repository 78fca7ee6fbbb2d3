"""The residual networks: shapes stage by stage, and the number of weights the literature counts."""

import torch

from objectives.networks import resnet18, small_resnet


def test_resnet18_has_a_stem_for_small_images() -> None:
    network = resnet18(3, 10)
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
    assert network.layer1(network.maxpool(network.conv1(torch.zeros(1, 3, 32, 32)))).shape == (1, 64, 32, 32)  # type: ignore[operator]
    assert sum(p.numel() for p in network.parameters()) == 11_173_962  # the CIFAR ResNet-18 of the literature


def test_small_networks_halve_the_image_stage_by_stage() -> None:
    network = small_resnet(3, 10, widths=(4, 8, 16), blocks=2, stem_stride=2)
    features = network[:-3](torch.zeros(2, 3, 32, 32))  # type: ignore[index]
    assert features.shape == (2, 16, 4, 4)
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
