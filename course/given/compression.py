"""What a compressing communication hook needs: a memory, and two ways to send less."""

from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.futures import Future


@dataclass
class Memory:
    """What this rank has not sent so far, and how much a message may hold.

    It is kept for each parameter, not for each bucket, since DDP makes other buckets after the
    first step. Without `feedback` it forgets: what is not sent is lost.
    """

    share: float = 0.01  # of a bucket's numbers: what a hook sends that chooses the largest
    feedback: bool = True
    unsent: dict[nn.Parameter, Tensor] = field(default_factory=dict)

    def recall(self, bucket: dist.GradBucket) -> Tensor:
        """What is unsent of a bucket's gradients: a row as long as its buffer, zeros at first."""
        parts = zip(bucket.parameters(), bucket.gradients(), strict=True)
        rows = [self.unsent.get(p, torch.zeros_like(gradient)).flatten() for p, gradient in parts]
        return torch.cat(rows)

    def keep(self, bucket: dist.GradBucket, row: Tensor) -> None:
        """Remember a row as what is unsent of a bucket's gradients now."""
        if self.feedback:
            sizes = [gradient.numel() for gradient in bucket.gradients()]
            parts = row.detach().clone().split(sizes)
            self.unsent |= dict(zip(bucket.parameters(), parts, strict=True))

    def count(self, bucket: dist.GradBucket) -> int:
        """How many of a bucket's numbers make up the `share`: at least one."""
        return max(1, int(self.share * bucket.buffer().numel()))


def mean(row: Tensor, dtype: torch.dtype) -> Future[Tensor]:
    """The mean of the ranks' rows, as `dtype`; rows travel and are added up in their own dtype."""
    ranks = dist.get_world_size()
    sent = dist.all_reduce(row, async_op=True).get_future()
    return sent.then(lambda done: done.value()[0].to(dtype) / ranks)


def mean_of_few(values: Tensor, places: Tensor, like: Tensor) -> Future[Tensor]:
    """The mean of sparse rows: each rank sends a few numbers with their places; the rest is 0.

    All ranks send equally many. The result is as long as `like`. Places travel as int32, half of
    what torch's own int64 would take.
    """
    # torch 2.13 has a shorter name for it, and warns about the old one.
    all_gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
    ranks = dist.get_world_size()
    gathered = ranks * values.numel()
    numbers = values.new_empty(gathered)
    indices = places.new_empty(gathered, dtype=torch.int32)
    all_gather(indices, places.int())
    sent = all_gather(numbers, values.contiguous(), async_op=True).get_future()

    def add_up(done: Future) -> Tensor:
        done.wait()
        return torch.zeros_like(like).index_add_(0, indices, numbers) / ranks

    return sent.then(add_up)
