"""Each layer is split between the ranks: ``torchrun --nproc-per-node 2 split.py``."""

import torch
import torch.distributed as dist
from torch import Tensor, nn

dist.init_process_group("gloo")
torch.set_num_threads(1)


class Sum(torch.autograd.Function):
    """Adds up the parts of all ranks in forward."""

    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        """The sum."""
        dist.all_reduce(x := x.clone())
        return x

    @staticmethod
    def backward(ctx: object, grad: Tensor) -> Tensor:
        """Return the gradient, which is the same on all ranks."""
        return grad


class Copy(torch.autograd.Function):
    """Adds up the gradients of all ranks in backward."""

    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        """Return the input."""
        return x.view_as(x)

    @staticmethod
    def backward(ctx: object, grad: Tensor) -> Tensor:
        """The sum."""
        dist.all_reduce(grad := grad.clone())
        return grad


class Block(nn.Module):
    """Two linear layers; each rank has a part of the hidden units between them."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(512, 32), nn.Linear(32, 512)

    def forward(self, x: Tensor) -> Tensor:
        """Add to `x` the sum of all ranks' parts."""
        return x + Sum.apply(self.down(torch.relu(self.up(Copy.apply(x)))))


model = nn.Sequential(*[Block() for _ in range(4)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
generator = torch.Generator().manual_seed(0)
for _ in range(30):
    model(torch.randn(2048, 512, generator=generator)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
