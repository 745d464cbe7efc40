"""Four faults of sharded training that raise no error, on four ranks without GPUs."""

from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from course.given.fsdp import HookedModel
from course.given.units import Unit

Whole = Callable[[Unit, Tensor], list[Tensor]]


def clip_for_oneself(net: HookedModel) -> None:
    """Clip by the norm of this rank's shards."""
    _backward(net)
    norm = nn.utils.clip_grad_norm_(net.shards(), max_norm=0.1)
    print(f"local clipping scales by {0.1 / norm:.2f}")


def save_a_part(net: HookedModel, whole: Whole, path: Path) -> None:
    """Save one rank's shards as if they were the whole model, and load them on every rank."""
    unit = net.units[0]
    before = whole(unit, unit.shard.detach())
    if dist.get_rank() == 0:
        path.parent.mkdir(exist_ok=True)
        torch.save([shard.detach() for shard in net.shards()], path)
    dist.barrier()
    for shard, saved in zip(net.shards(), torch.load(path), strict=True):
        shard.data = saved
    after = whole(unit, unit.shard.detach())
    _tell(f"of the loaded weights {100 * (before[0] == after[0]).float().mean():.0f} % are right")


def optimize_too_early() -> None:
    """Build the optimizer before sharding."""
    net = small()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    fully_shard(net, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    before = net[0].weight.full_tensor()
    _backward(net)
    optimizer.step()
    moved = (net[0].weight.full_tensor() - before).norm()
    _tell(f"a step of an optimizer that was built too early changes the weights by {moved:.2f}")


def start_apart() -> None:
    """Give two replicas, of two ranks each, different weights."""
    rank = dist.get_rank()
    net = small(seed=rank // 2)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    fully_shard(net, mesh=mesh)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(4):
        parts = [torch.empty(4, 8) for _ in range(4)]
        dist.all_gather(parts, net[0].weight.detach().to_local())
        _tell(f"step {step}: the replicas are {(parts[0] - parts[2]).norm():.2f} apart")
        _backward(net)
        optimizer.step()


def small(seed: int = 0) -> nn.Sequential:
    """A model of two layers of 8 by 8."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))


def _backward(net: nn.Module) -> None:
    torch.manual_seed(dist.get_rank())  # each rank has its own batch
    net(torch.randn(4, 8)).square().mean().backward()


def _tell(text: str) -> None:
    if dist.get_rank() == 0:
        print(text)
