"""On a rank: record moves of tensors and models to a GPU and back, but keep them on the CPU."""

import sys
from functools import wraps
from typing import Any

import torch
from torch import nn

from course.core import insides, interceptor
from course.diagnostics.fit.ledger import Ledger
from course.diagnostics.fit.torch_insides import parse_to

FSDP = "torch/distributed/fsdp/_fully_shard/"


def install(ledger: Ledger) -> None:
    """From now on, let a move to a GPU make a copy on the CPU that counts as being on the GPU.

    Every tensor says that its device is the CPU. So `x.to(y.device)` moves nothing, and only the
    string "cpu", `cpu()` and FSDP's own code bring a tensor back to the host.
    """
    _install_on_tensors(_Mover(ledger))
    _install_on_modules(ledger)


class _Mover:
    """Moves a tensor to the GPU or back with torch's own `Tensor.to`, and tells the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.real = ledger, torch.Tensor.to

    def to_gpu(self, tensor: torch.Tensor, dtype: Any = None, copy: bool = False) -> torch.Tensor:
        """A copy of a tensor on the GPU, or the tensor itself if it is there."""
        new = copy or not (hasattr(tensor, "_local_tensor") or self.ledger.is_on_gpu(tensor))
        result = self.real(tensor, dtype=dtype or tensor.dtype, copy=new)
        self.ledger.put_on_gpu(result)
        return result

    def to_host(self, tensor: torch.Tensor, dtype: Any = None, copy: bool = False) -> torch.Tensor:
        """A copy of a tensor on the host, or the tensor itself if it is there."""
        from_gpu = self.ledger.is_on_gpu(tensor)
        result = self.real(tensor, dtype=dtype or tensor.dtype, copy=copy or from_gpu)
        if from_gpu:
            self.ledger.take_from_gpu(result)
        return result


def _install_on_tensors(mover: _Mover) -> None:
    real, ledger = mover.real, mover.ledger

    @wraps(real)
    def to(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if args and isinstance(args[0], int):  # the index of a GPU
            args = (torch.device("cuda", args[0]), *args[1:])
        copy = kwargs.pop("copy", False)
        device, dtype, _, _ = parse_to(*args, **kwargs)
        if device is not None and device.type == "cuda":
            return mover.to_gpu(self, dtype, copy)
        if _names_cpu(*args, **kwargs):
            return mover.to_host(self, dtype, copy)
        by_fsdp = FSDP in sys._getframe(1).f_code.co_filename  # it offloads
        if device is not None and by_fsdp and ledger.record.uses_gpu:
            move = mover.to_host if ledger.is_on_gpu(self) else mover.to_gpu
            return move(self, dtype, copy)
        return real(self, *args, copy=copy, **kwargs)

    def cuda(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return mover.to_gpu(self)

    def cpu(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return mover.to_host(self)

    for name, ours in (("to", to), ("cuda", cuda), ("cpu", cpu)):
        insides.replace(torch.Tensor, name, ours)
    for name in ("tensor", "as_tensor", "asarray"):
        insides.replace(torch, name, _made_on_device(getattr(torch, name), to))


def _install_on_modules(ledger: Ledger) -> None:
    real_to, real_empty = nn.Module.to, nn.Module.to_empty

    @wraps(real_to)
    def to(self: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
        if _names_cpu(*args, **kwargs):
            self.cpu()
        return real_to(self, *args, **kwargs)

    @wraps(real_empty)
    def to_empty(self: nn.Module, *, device: Any, recurse: bool = True) -> nn.Module:
        real_empty(self, device="cpu", recurse=recurse)
        if device is not None and torch.device(device).type == "cuda":
            for tensor in (*self.parameters(recurse), *self.buffers(recurse)):
                ledger.put_on_gpu(tensor)
        return self

    insides.replace(nn.Module, "to", to)
    insides.replace(nn.Module, "to_empty", to_empty)


def _names_cpu(device: Any = None, *args: Any, **kwargs: Any) -> bool:
    """Whether the first argument of a move is a string that names the CPU."""
    return isinstance(device, str) and device.startswith("cpu")


def _made_on_device(make: interceptor.Function, to: interceptor.Function) -> interceptor.Function:
    """Wrap a function that makes a tensor from values, perhaps on a GPU."""

    @wraps(make)
    def make_and_move(*args: Any, device: Any = None, **kwargs: Any) -> torch.Tensor:
        tensor = make(*args, **kwargs)
        return tensor if device is None else to(tensor, device)

    return make_and_move
