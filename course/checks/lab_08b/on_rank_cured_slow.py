"""What the checks of `cured_slow` do on each rank: who reads, what is sent, which texts."""

import importlib
import os

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset

from course.checks.tools.recorder import recorded
from course.checks.tools.reference import furthest

Pass = tuple[str, int]  # forward or backward, and the rows that go through the model


class Signed(Dataset):
    """Samples that say which they are, and which process has read them."""

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> Tensor:
        return torch.tensor([index, os.getpid()])


def cured() -> object:
    """The learner's script."""
    return importlib.import_module("cured_slow")


def read(batch_size: int, order: list[int]) -> tuple[list[list[int]], int]:
    """The samples of each batch, and how many of all this process has read itself."""
    batches = [batch.tolist() for batch in cured().loader(Signed(), batch_size, order)]
    samples = [[index for index, _ in batch] for batch in batches]
    return samples, sum(process == os.getpid() for batch in batches for _, process in batch)


def small() -> nn.Module:
    """A model, the same on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))


def batches(rank: int, count: int) -> list[Tensor]:
    """The batches of a rank."""
    generator = torch.Generator().manual_seed(rank)
    return list(torch.randn(count, 5, 4, generator=generator))


def accumulated(count: int) -> tuple[float, list[int], list[Pass], list[int]]:
    """What a step of that many batches does.

    How far its gradients are off, how many numbers are sent and how many the model has, its passes
    in order, and the numbers that a plain pass sends afterwards.
    """
    sent: list[int] = []

    def hook(state: object, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
        mine = bucket.buffer().div_(dist.get_world_size())
        sent.append(mine.numel())
        return dist.group.WORLD.allreduce([mine]).get_future().then(lambda sums: sums.value()[0])

    model = DistributedDataParallel(small())
    model.register_comm_hook(None, hook)
    passes: list[Pass] = []

    def note(module: nn.Module, inputs: tuple, output: Tensor) -> None:
        passes.append(("forward", len(output)))
        if output.requires_grad:
            output.register_hook(lambda gradient: passes.append(("backward", len(gradient))))

    noting = model.module.register_forward_hook(note)
    with recorded() as calls:
        cured().accumulate(model, batches(dist.get_rank(), count))
    total = sum(sent) + sum(call.elements for call in calls)
    expected = small()
    everyone = range(dist.get_world_size())
    for batch in (batch for rank in everyone for batch in batches(rank, count)):
        (expected(batch).square().mean() / count / len(everyone)).backward()
    off = furthest([p.grad for p in model.parameters()], [p.grad for p in expected.parameters()])
    sizes = sum(parameter.numel() for parameter in model.parameters())
    noting.remove()
    sent.clear()
    model(batches(0, 1)[0]).square().mean().backward()
    return off, [total, sizes], passes, sent


def dealt(
    lengths: list[int], batch_size: int, world_size: int
) -> tuple[list[list[list[int]]], list[int]]:
    """The batches of every rank, and the lengths afterwards."""
    before = list(lengths)
    return [
        cured().shares(before, batch_size, rank, world_size) for rank in range(world_size)
    ], before
