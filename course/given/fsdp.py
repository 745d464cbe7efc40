"""A model with sharded layers; subclasses add what happens before and after they compute."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.given import sharding
from course.given.units import ShardedUnit


class HookedModel(nn.Module):
    """A model that is sharded at rest; the optimizer steps on `shards()`.

    No call is needed after a step. A subclass defines the hooks: `before_forward(i)`,
    `after_forward(i, output)` and `gradient_ready(unit)`.
    """

    def __init__(
        self,
        model: nn.Module,
        layers: list[nn.Module],
        dtype: torch.dtype = torch.float32,
        group: dist.ProcessGroup | None = None,
    ):
        super().__init__()
        sharding.same_start(model)
        self.module = model
        rest, *own = sharding.by_unit(model, layers)
        trained = [(layer, ps) for layer, ps in zip(layers, own, strict=True) if ps]
        self.units = [ShardedUnit(parameters, dtype, group) for _, parameters in trained]
        self.outer = [ShardedUnit(rest, dtype, group)] if rest else []  # whole all step long
        self.reduces = True  # False within `no_sync()`
        for i, (layer, _) in enumerate(trained):
            self._watch(i, layer)
        for unit in (*self.outer, *self.units):
            for parameter in unit.parameters:
                parameter.register_post_accumulate_grad_hook(
                    lambda _, unit=unit: self.gradient_ready(unit)
                )

    def _watch(self, i: int, layer: nn.Module) -> None:
        layer.register_forward_pre_hook(lambda *_: self.before_forward(i))
        layer.register_forward_hook(
            lambda _, inputs, output: self.after_forward(i, sharding.one_tensor(i, output))
        )

    def shards(self) -> list[nn.Parameter]:
        """The parameters that this rank trains."""
        return [unit.shard for unit in (*self.outer, *self.units)]

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Keep gradients whole inside the block; the first backward after it reduces their sum."""
        self.reduces = False
        try:
            yield
        finally:
            self.reduces = True

    def forward(self, *args, **kwargs):
        """Run the model; parameters that no single layer owns are gathered first and freed last."""
        for unit in self.units:
            unit.in_backward = False
        for unit in self.outer:
            unit.gather()
        result = self.module(*args, **kwargs)
        if not torch.is_grad_enabled():  # no backward will come to free it
            for unit in self.outer:
                unit.free()
        return result


class PlainFSDP(HookedModel):
    """A model whose layers are gathered without prefetching, once for each pass."""

    def before_forward(self, i: int) -> None:
        """Make layer i whole."""
        self.units[i].gather()

    def after_forward(self, i: int, output: Tensor) -> None:
        """Free layer i until its backward begins."""
        self.units[i].free()
        if output.requires_grad:
            output.register_hook(lambda _: self.units[i].gather())

    def gradient_ready(self, unit: ShardedUnit) -> None:
        """Free the unit after its last gradient, and reduce its gradients."""
        unit.missing -= 1
        if unit.missing == 0:
            unit.free()
            self.reduce(unit)
            unit.missing = len(unit.parameters)

    def reduce(self, unit: ShardedUnit) -> None:
        """Average the gradients of a unit; each rank keeps its part."""
        unit.reduce()
