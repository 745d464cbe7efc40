"""What the checks of my_fsdp do on each rank: watch which layers are whole while each computes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from course.checks.lab_10.on_rank_sharding import fsdp, whole_weights
from course.checks.tools.reference import (
    WIDTH,
    Small,
    batch,
    furthest,
    loss_of,
    train_alone,
)
from course.given import units
from course.given.sent import Traffic

LAYERS = 4
# The phase of a step, the layer that computes, those that have memory then, those whose gather is
# still to be waited for, and those that have whole gradients.
Seen = tuple[str, int, list[int], list[int], list[int]]


class _InBackward(torch.autograd.Function):
    """Passes a tensor on, and calls a function when its gradient comes back."""

    @staticmethod
    def forward(ctx, x: Tensor, see: Callable) -> Tensor:
        ctx.see = see
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        ctx.see()
        return gradient, None


class _Layer(nn.Module):
    """A layer of two modules that says when it computes, in forward and in backward.

    Its gradients do not come at once, as those of one module do.
    """

    def __init__(self, place: int, see: Callable[[str, int], None]) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)
        self.place, self.see = place, see

    def forward(self, x: Tensor) -> Tensor:
        self.see("forward" if torch.is_grad_enabled() else "evaluation", self.place)
        x = self.norm(self.linear(x))
        x = _InBackward.apply(x, lambda: self.see("backward", self.place))
        return torch.tanh(x)


class LayerStack(nn.Module):
    """Some layers and a head; `seen` has the layers that were whole while each of them computed."""

    def __init__(self, layers: int = LAYERS, recompute: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.seen: list[Seen] = []
        self.on_its_way: Callable[[int], bool] = lambda place: False
        self.layers = nn.ModuleList(_Layer(place, self.see) for place in range(layers))
        self.head = nn.Linear(WIDTH, 1)
        self.recompute = recompute

    def see(self, phase: str, place: int) -> None:
        """Note the layers that have memory now, and those that have whole gradients."""
        gradients = [
            i for i, layer in enumerate(self.layers) if layer.linear.weight.grad is not None
        ]
        on_their_way = [i for i in range(len(self.layers)) if self.on_its_way(i)]
        self.seen.append((phase, place, self.whole(), on_their_way, gradients))

    def whole(self) -> list[int]:
        """The layers that have memory."""
        return [
            place
            for place, layer in enumerate(self.layers)
            if layer.linear.weight.untyped_storage().nbytes()
        ]

    def forward(self, x: Tensor) -> Tensor:
        # To its end: otherwise recomputation stops where the last tensor is there that is needed.
        with set_checkpoint_early_stop(False):
            for layer in self.layers:
                x = checkpoint(layer, x, use_reentrant=False) if self.recompute else layer(x)
        return self.head(x)


def watched() -> tuple[list[Seen], list[int], dict[int, list[int]]]:
    """What is whole while each layer computes, in the second of two steps and in an evaluation.

    Also the layers in the order in which their gathers begin in that step, and by layer, those
    that are whole when it begins to reduce its gradients.
    """
    with _noted_gathers() as (begun, unfinished):
        net, _ = fsdp(LayerStack())
        place_of = {id(unit.full): place for place, unit in enumerate(net.units)}
        net.module.on_its_way = lambda place: id(net.units[place].full) in unfinished
        reducing: dict[int, list[int]] = {}
        for place, unit in enumerate(net.units):
            unit.reduce = _noted_reduce(unit.reduce, place, net.module, reducing)
        for step in range(2):
            net.module.seen.clear()
            begun.clear()
            loss_of(net, batch(step, dist.get_rank())).backward()
        order = [place_of[buffer] for buffer in begun if buffer in place_of]
        with torch.no_grad():
            loss_of(net, batch(2, dist.get_rank()))
    return net.module.seen, order, reducing


def _noted_reduce(reduce: Callable, place: int, model: LayerStack, reducing: dict) -> Callable:
    """The `reduce` of a unit, which first notes the layers that are whole."""

    def noted() -> None:
        reducing[place] = model.whole()
        reduce()

    return noted


class _Noted:
    """A handle of a gather, which notes that its buffer is complete once code has waited for it."""

    def __init__(self, work: dist.Work, buffer: Tensor, unfinished: set[int]) -> None:
        self.work, self.buffer, self.unfinished = work, buffer, unfinished

    def wait(self) -> None:
        self.work.wait()
        self.unfinished.discard(id(self.buffer))


@contextmanager
def _noted_gathers() -> Iterator[tuple[list[int], set[int]]]:
    """The buffers, by id: those whose gather has begun, and those of them not waited for."""
    begun: list[int] = []
    unfinished: set[int] = set()
    real = units.all_gather

    def gather(buffer: Tensor, shard: Tensor, **options: object) -> _Noted | None:
        begun.append(id(buffer))
        work = real(buffer, shard, **options)
        if work is None:
            return None
        unfinished.add(id(buffer))
        return _Noted(work, buffer, unfinished)

    units.all_gather = gather
    try:
        yield begun, unfinished
    finally:
        units.all_gather = real


def at_rest() -> dict[str, list[str]]:
    """The parameters that have memory after construction, a step, and a forward for evaluation."""
    net, _ = fsdp(Small(seed=0))
    data = batch(0, dist.get_rank())

    def whole() -> list[str]:
        return [n for n, p in net.module.named_parameters() if p.untyped_storage().nbytes()]

    results = {"construction": whole()}
    loss_of(net, data).backward()
    results["backward"] = whole()
    with torch.no_grad():
        loss_of(net, data)
    results["a forward without gradients"] = whole()
    return results


def without_sync() -> tuple[list[str], list[str], int, float]:
    """Three passes, the first two of them within no_sync().

    Which weights are whole after these, which gradients are missing, the bytes that they have
    reduced, and how far the weights are after the update from those of one process.
    """
    net, _ = fsdp(Small(seed=0))
    updates = torch.optim.SGD(net.shards(), lr=0.1)
    with net.no_sync(), Traffic() as seen:
        for step in range(2):
            (loss_of(net, batch(step, dist.get_rank())) / 3).backward()
    named = list(net.module.named_parameters())
    whole = [name for name, p in named if p.untyped_storage().nbytes()]
    missing = [name for name, p in named if p.grad is None]
    reduced = sum(message.nbytes for message in seen.messages if "gather" not in message.name)
    (loss_of(net, batch(2, dist.get_rank())) / 3).backward()
    updates.step()
    alone = train_alone("plain", "SGD", 1, dist.get_world_size(), passes=3)
    return whole, missing, reduced, furthest(whole_weights(net), alone)


def recomputed() -> tuple[float, list[int]]:
    """How far training with recomputed activations is from training without; what stays whole."""
    trained = []
    for recompute in (False, True):
        net, _ = fsdp(LayerStack(recompute=recompute))
        updates = torch.optim.SGD(net.shards(), lr=0.1)
        for step in range(2):
            updates.zero_grad()
            loss_of(net, batch(step, dist.get_rank())).backward()
            updates.step()
        left = net.module.whole()
        trained.append(whole_weights(net))
    return furthest(*trained), left


def in_bf16() -> tuple[float, set[str]]:
    """How far three steps in bf16 are from one process that does the same.

    Also the dtypes of the shards.
    """
    rank, ranks = dist.get_rank(), range(dist.get_world_size())
    net, _ = fsdp(Small(seed=0), dtype=torch.bfloat16)
    alone = Small(seed=0)
    mine = torch.optim.SGD(net.shards(), lr=0.1)
    reference = torch.optim.SGD(alone.parameters(), lr=0.1)
    for step in range(3):
        mine.zero_grad()
        loss_of(net, _narrow(step, rank)).backward()
        mine.step()
        of_rank = [_gradients_in_bf16(alone, _narrow(step, other)) for other in ranks]
        for parameter, *gradients in zip(alone.parameters(), *of_rank, strict=True):
            parameter.grad = torch.stack(gradients).mean(0)
        reference.step()
    expected = dict(alone.named_parameters())
    name_of = {parameter: name for name, parameter in net.module.named_parameters()}
    off = 0.0
    for unit in [*net.outer, *net.units]:
        parts = [torch.empty_like(unit.shard) for _ in ranks]
        dist.all_gather(parts, unit.shard.detach())
        names = [name_of[parameter] for parameter in unit.parameters]
        flat = torch.cat([expected[name].detach().flatten() for name in names])
        off = max(off, float((torch.cat(parts)[: len(flat)] - flat).abs().max()))
    return off, {str(shard.dtype) for shard in net.shards()}


def _narrow(step: int, rank: int) -> tuple[Tensor, Tensor]:
    inputs, targets = batch(step, rank)
    return inputs.bfloat16(), targets


def _gradients_in_bf16(model: nn.Module, data: tuple[Tensor, Tensor]) -> list[Tensor]:
    """The gradients of a copy in bf16, as float32."""
    copies = {
        name: parameter.detach().bfloat16().requires_grad_()
        for name, parameter in model.named_parameters()
    }
    inputs, targets = data
    loss = nn.functional.mse_loss(functional_call(model, copies, (inputs,)), targets)
    return [gradient.float() for gradient in torch.autograd.grad(loss, list(copies.values()))]
