"""On a rank: change a running script so that it needs less memory."""

import types
import weakref
from collections import Counter
from functools import partial, wraps
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import fsdp
from torch.nn import parallel
from torch.nn.parallel import distributed
from torch.optim import Optimizer
from torch.optim import optimizer as optimizers
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

from course.core import insides, interceptor
from course.diagnostics.fit.phases import StopScript
from course.diagnostics.fit.record import Plain

LIST_CLASSES = (nn.ModuleList, nn.Sequential)
MODEL_CHANGES = {"autocast", "checkpoint", "shard", "offload"}  # changes of the model


class Changes:
    """Makes the requested changes; `applied` names those that found something to change.

    A request may have `batch`, the batch size of the loaders; `passes`, the number of backward
    passes per step; and `layers`, the class of the repeated layers and how many of them the model
    keeps. `autocast`, `checkpoint`, `shard` and `offload` change the model; an offloaded model is
    also sharded. The attribute `batch_size` is the script's own batch size.
    """

    def __init__(self, requested: Plain) -> None:
        self._requested = requested
        self.applied: set[str] = set()
        self.batch_size: int | None = None
        self._lists: weakref.WeakSet[nn.Module] = weakref.WeakSet()  # to which a module was added
        self._optimizers = self._depth = 0

    def install(self) -> None:
        """Make the changes, for the rest of this process."""
        insides.replace(DataLoader, "__init__", self._loader(DataLoader.__init__))
        insides.replace(Optimizer, "__init__", self._optimizer(Optimizer.__init__))
        insides.replace(nn.Module, "add_module", self._add(nn.Module.add_module))
        if {"autocast", "checkpoint"} & self._requested.keys():
            insides.replace(nn.Module, "__call__", self._call(nn.Module.__call__))
        if {"shard", "offload"} & self._requested.keys():
            sharded = partial(_Sharded, self)
            insides.replace(parallel, "DistributedDataParallel", sharded)
            insides.replace(distributed, "DistributedDataParallel", sharded)
        if "offload" in self._requested:
            insides.replace(fsdp, "fully_shard", self._offload(fsdp.fully_shard))
            insides.replace(nn.Module, "to_empty", self._empty(nn.Module.to_empty))
        optimizers.register_optimizer_step_pre_hook(self._step_begins)

    def _step_begins(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if MODEL_CHANGES & self._requested.keys() - self.applied:
            raise StopScript  # there was nothing to change, so the steps would show nothing new

    def shard(self, module: nn.Module) -> None:
        """Shard a model by its repeated layers, unless an optimizer already has whole weights."""
        if self._optimizers:
            return
        mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
        for part in repeated(module):
            fsdp.fully_shard(part, mesh=mesh)
        fsdp.fully_shard(module, mesh=mesh)
        self.applied.add("shard")

    def _offload(self, shard: interceptor.Function) -> interceptor.Function:
        @wraps(shard)
        def offloaded(module: Any, **kwargs: Any) -> Any:
            self.applied.add("offload")
            return shard(module, **kwargs | {"offload_policy": fsdp.CPUOffloadPolicy()})

        return offloaded

    def _empty(self, empty: interceptor.Function) -> interceptor.Function:
        """Let an offloaded model get its memory on the host, as torch demands."""

        @wraps(empty)
        def emptied(module: nn.Module, *, device: Any, recurse: bool = True) -> nn.Module:
            on_host = any(isinstance(submodule, fsdp.FSDPModule) for submodule in module.modules())
            return empty(module, device="cpu" if on_host else device, recurse=recurse)

        return emptied

    def _loader(self, init: interceptor.Function) -> interceptor.Function:
        @wraps(init)
        def made(loader: DataLoader[Any], dataset: Any, batch_size: int | None = 1, *args: Any,
                 **kwargs: Any) -> None:  # fmt: skip
            if self.batch_size is None and batch_size and not kwargs.get("batch_sampler"):
                self.batch_size = batch_size
            if batch_size and batch_size == self.batch_size and "batch" in self._requested:
                batch_size = self._requested["batch"]
                self.applied.add("batch")
            init(loader, dataset, batch_size, *args, **kwargs)

        return made

    def layers(self) -> tuple[str, int] | None:
        """The class and number of the model's equal layers; None if lists of them differ.

        Equal lists count as one: all are shortened together, so the peak still lies on a line.
        """
        inner = {
            part for each in self._lists for child in each.children() for part in child.modules()
        }
        entries = {
            entry
            for each in self._lists - inner
            for entry in Counter(map(_kind, repeated(each))).items()
        }
        if len(entries) != 1:
            return None
        ((layer, _), count) = entries.pop()
        return layer, count

    def _add(self, add: interceptor.Function) -> interceptor.Function:
        @wraps(add)
        def added(module: nn.Module, name: str, part: nn.Module | None) -> None:
            if isinstance(module, LIST_CLASSES):
                self._lists.add(module)
                layer, most = self._requested.get("layers", ("", 0))
                held = [type(child).__qualname__ for child in module.children()].count(layer)
                if type(part).__qualname__ == layer and held == most:
                    self.applied.add("layers")
                    return
            add(module, name, part)

        return added

    def _optimizer(self, init: interceptor.Function) -> interceptor.Function:
        @wraps(init)
        def made(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            init(optimizer, *args, **kwargs)
            self._optimizers += 1
            if "shard" in self._requested.keys() - self.applied:
                raise StopScript  # it is too late to shard: the optimizer has the whole weights
            if passes := self._requested.get("passes"):
                _only_every(passes, optimizer, "step")
                _only_every(passes, optimizer, "zero_grad")

        return made

    def _call(self, call: interceptor.Function) -> interceptor.Function:
        def called(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            outermost = not self._depth and torch.is_grad_enabled()
            if outermost and "checkpoint" in self._requested.keys() - self.applied:
                self._checkpoint(module)
            self._depth += 1
            try:
                if outermost and "autocast" in self._requested:
                    self.applied.add("autocast")
                    with torch.autocast("cpu", torch.bfloat16):
                        return call(module, *args, **kwargs)
                return call(module, *args, **kwargs)
            finally:
                self._depth -= 1

        return called

    def _checkpoint(self, module: nn.Module) -> None:
        """Let the repeated layers of a model keep only their inputs, and recompute the rest."""
        for part in repeated(module):
            part.forward = partial(checkpoint, part.forward, use_reentrant=False)
            self.applied.add("checkpoint")
        for submodule in module.modules():  # a cache for generation must not be filled twice
            config: Any = getattr(submodule, "config", None)
            if hasattr(config, "use_cache"):
                config.use_cache = False


class _Sharded(nn.Module):
    """Takes the place of DDP around a sharded model."""

    def __init__(self, changes: Changes, module: nn.Module, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.module = module
        changes.shard(module)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)


def repeated(module: nn.Module) -> list[nn.Module]:
    """The repeated layers of a model: those of one class in a `ModuleList` or `Sequential`."""
    layers: list[nn.Module] = []
    covered: set[nn.Module] = set()
    for submodule in module.modules():
        if submodule in covered or not isinstance(submodule, LIST_CLASSES):
            continue
        parts = [part for part in submodule if any(True for _ in part.parameters())]
        kinds = [type(part) for part in parts if any(True for _ in part.children())]
        same = [part for part in parts if kinds.count(type(part)) > 1]
        layers += same
        covered.update(inner for part in same for inner in part.modules())
    return layers


def _kind(module: nn.Module) -> tuple[str, tuple[torch.Size, ...]]:
    """The class of a module and the shapes of its parameters."""
    shapes = tuple(parameter.shape for parameter in module.parameters())
    return type(module).__qualname__, shapes


def _only_every(passes: int, optimizer: Optimizer, name: str) -> None:
    """Replace a method of an optimizer, so that only every `passes`-th call does something."""
    method = getattr(optimizer, name).__func__
    calls = 0

    @wraps(method)
    def call(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        return None if calls % passes else method(self, *args, **kwargs)

    setattr(optimizer, name, types.MethodType(call, optimizer))
