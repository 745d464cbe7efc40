"""The units that are sharded: lab 10's, and lab 10b's, which is whole only while it is needed."""

import torch
import torch.distributed as dist
from torch import Tensor, nn

# torch 2.13 gave these two new names; 2.13 and 2.14 warn about the old ones, 2.15 does not.
all_gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
reduce_scatter = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)


class Unit:
    """Parameters that travel together: one flat buffer in equal parts, and each rank owns one.

    Without a `group`, all ranks share it.
    """

    def __init__(self, parameters: list[nn.Parameter], group: dist.ProcessGroup | None = None):
        self.parameters = parameters
        self.group = group
        self.sizes = [parameter.numel() for parameter in parameters]
        self.missing = len(parameters)  # gradients that the current backward has yet to bring
        self.full = self.flatten([parameter.detach() for parameter in parameters])
        self.shard = nn.Parameter(
            self.full.chunk(dist.get_world_size(group))[dist.get_rank(group)].clone()
        )
        self.point()

    def point(self) -> None:
        """Make each parameter a window into the flat buffer."""
        *parts, _ = self.full.split([*self.sizes, len(self.full) - sum(self.sizes)])
        for parameter, part in zip(self.parameters, parts, strict=True):
            parameter.data = part.view(parameter.shape)

    def flatten(self, tensors: list[Tensor]) -> Tensor:
        """One flat tensor with all of these, then zeros until N divides its length."""
        padding = -sum(self.sizes) % dist.get_world_size(self.group)
        return torch.cat([*(tensor.flatten() for tensor in tensors), tensors[0].new_zeros(padding)])

    def reduce(self) -> None:
        """Average the gradients, add my part to `shard.grad`, free the whole gradients."""
        mine = torch.empty_like(self.shard)
        reduce_scatter(
            mine,
            self.flatten([parameter.grad for parameter in self.parameters]).to(mine.dtype),
            group=self.group,
        )
        mine /= dist.get_world_size(self.group)
        self.shard.grad = mine if self.shard.grad is None else self.shard.grad + mine
        for parameter in self.parameters:
            parameter.grad = None

    def gather(self) -> None:
        """Fill the flat buffer with every rank's shard."""
        all_gather(self.full, self.shard.detach(), group=self.group)


class ShardedUnit(Unit):
    """A unit whose flat buffer has memory only from `start()` to `free()`."""

    def __init__(
        self,
        parameters: list[nn.Parameter],
        dtype: torch.dtype,
        group: dist.ProcessGroup | None = None,
    ):
        super().__init__(parameters, group)
        self.full = self.full.to(dtype, copy=True)  # what computes; the shard stays float32
        self.point()
        self.bytes = self.full.untyped_storage().nbytes()
        self.work, self.in_backward = None, False
        self.free()

    def free(self) -> None:
        """Give the memory back: the parameters keep their shapes, but hold nothing."""
        self.full.untyped_storage().resize_(0)

    def start(self) -> None:
        """Begin to gather, unless that has begun or is done already."""
        if self.full.untyped_storage().nbytes() == 0:
            self.full.untyped_storage().resize_(self.bytes)
            shard = self.shard.detach().to(self.full.dtype)
            self.work = all_gather(self.full, shard, group=self.group, async_op=True)

    def gather(self) -> None:
        """Return when the flat buffer is whole."""
        self.start()
        if self.work is not None:
            self.work.wait()
            self.work = None
