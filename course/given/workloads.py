"""Two models to measure, a BERT and a convolutional network, and one training step of each."""

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

from course.data import nli
from course.models import bert

Loss = Callable[[], Tensor]


def convnet(size: str) -> nn.Module:
    """A small convolutional network for images (N, 3, 32, 32); it has one size."""
    widths, layers = (3, 32, 64, 128), []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Conv2d(inputs, outputs, 3, stride=2, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 4 * 4, 10))


def image_loss(model: nn.Module, batch: int, device: torch.device) -> Loss:
    """A function that computes the loss on `batch` made-up images."""
    images = torch.rand(batch, 3, 32, 32, device=device)
    labels = torch.randint(10, (batch,), device=device)
    return lambda: nn.functional.cross_entropy(model(images), labels)


def bert_loss(model: nn.Module, batch: int, device: torch.device) -> Loss:
    """A function that computes the loss on `batch` sentence pairs."""
    pairs = nli.tokenized("train", size=batch)[:]
    inputs = {name: tensor.to(device) for name, tensor in pairs.items()}
    return lambda: model(**inputs).loss


def train_step(model: nn.Module, loss: Loss) -> Callable[[], None]:
    """A function that makes one training step on the fixed batch of `loss`."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


# How each is built, its loss, and the batches to measure.
WORKLOADS = {
    "bert": (bert, bert_loss, (16, 32, 64)),
    "images": (convnet, image_loss, (64, 128, 256)),
}
