"""On a rank: let moves of tensors and models to a GPU leave them on the CPU, and note them."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import nn

from course.own.fit.ledger import Ledger
from course.own.fit.torch_insides import parse_to

FSDP = "torch/distributed/fsdp/_fully_shard/"


def install(ledger: Ledger) -> None:
    """Let a move to a GPU make a copy on the CPU that counts as lying there, since there is no GPU.

    The device of every tensor is the CPU. So `x.to(y.device)` moves nothing, and only the word
    "cpu", `cpu()` and FSDP's own code bring a tensor back to the host.
    """
    to, empty, to_all = torch.Tensor.to, nn.Module.to_empty, nn.Module.to

    def placed(tensor: torch.Tensor, dtype: Any = None, copy: bool = False) -> torch.Tensor:
        new = copy or not (hasattr(tensor, "_local_tensor") or ledger.lies_on_gpu(tensor))
        result = to(tensor, dtype=dtype or tensor.dtype, copy=new)
        ledger.put_on_gpu(result)
        return result

    def returned(tensor: torch.Tensor, dtype: Any = None, copy: bool = False) -> torch.Tensor:
        from_gpu = ledger.lies_on_gpu(tensor)
        result = to(tensor, dtype=dtype or tensor.dtype, copy=copy or from_gpu)
        if from_gpu:
            ledger.take_from_gpu(result)
        return result

    @wraps(to)
    def moved(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if args and isinstance(args[0], int):  # the index of a GPU
            args = (torch.device("cuda", args[0]), *args[1:])
        copy = kwargs.pop("copy", False)
        device, dtype, _, _ = parse_to(*args, **kwargs)
        if device is not None and device.type == "cuda":
            return placed(self, dtype, copy)
        if _names_cpu(*args, **kwargs):
            return returned(self, dtype, copy)
        by_fsdp = FSDP in sys._getframe(1).f_code.co_filename  # it offloads
        if device is not None and by_fsdp and ledger.record.uses_gpu:
            move = returned if ledger.lies_on_gpu(self) else placed
            return move(self, dtype, copy)
        return to(self, *args, copy=copy, **kwargs)

    @wraps(to_all)
    def moved_all(self: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
        if _names_cpu(*args, **kwargs):
            self.cpu()
        return to_all(self, *args, **kwargs)

    @wraps(empty)
    def emptied(self: nn.Module, *, device: Any, recurse: bool = True) -> nn.Module:
        empty(self, device="cpu", recurse=recurse)
        if device is not None and torch.device(device).type == "cuda":
            for tensor in (*self.parameters(recurse), *self.buffers(recurse)):
                ledger.put_on_gpu(tensor)
        return self

    torch.Tensor.to, nn.Module.to, nn.Module.to_empty = moved, moved_all, emptied
    torch.Tensor.cuda = lambda self, *args, **kwargs: placed(self)
    torch.Tensor.cpu = lambda self, *args, **kwargs: returned(self)
    for name in ("tensor", "as_tensor", "asarray"):
        setattr(torch, name, _made_there(getattr(torch, name), moved))


def _names_cpu(device: Any = None, *args: Any, **kwargs: Any) -> bool:
    """Whether the first argument of a move is the word "cpu"."""
    return isinstance(device, str) and device.startswith("cpu")


def _made_there(make: Callable, moved: Callable) -> Callable:
    """Wrap a function that makes a tensor of values, and that may name a GPU for it."""

    @wraps(make)
    def made(*args: Any, device: Any = None, **kwargs: Any) -> torch.Tensor:
        tensor = make(*args, **kwargs)
        return tensor if device is None else moved(tensor, device)

    return made
