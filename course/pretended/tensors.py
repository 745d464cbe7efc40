"""CPU tensors with a pretended device, and the rule that an operation needs all on one device.

The device is an attribute of the storage, so views share it. A tensor that torch's C++ code made
has no device until something is written into it, and fits every device. `tensors.md` lists how this
can fail.
"""

import os
import threading
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course.core import insides

CPU = torch.device("cpu")
# Operations that may read from one device and write to another, or take CPU indices on a GPU.
MAY_MIX = {"aten::copy_", "aten::_foreach_copy_", "aten::index", "aten::index_put_"}
# autograd's C++ code calls these when it copies a gradient, with the device that C++ sees: CPU.
FROM_C = {"aten::new_empty_strided"}


class PretendedGpus:
    """The GPUs of this process: their number, whether one was used, each thread's current one."""

    def __init__(self) -> None:
        self.count, self.initialized, self._thread = 0, False, threading.local()

    @property
    def current(self) -> int:
        """The index of the current GPU of this thread."""
        return getattr(self._thread, "current", 0)

    @current.setter
    def current(self, index: int) -> None:
        self._thread.current = self.use(torch.device("cuda", index)).index
        self._thread.chosen = True

    def use(self, device: torch.device | str | int) -> torch.device:
        """The device that CUDA would use, with its index; from then on CUDA counts as initialized.

        Raises `AcceleratorError`, as CUDA does, for a GPU that is not there.
        """
        device = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
        if device.type != "cuda":
            return device
        if device.index is None:
            device = torch.device("cuda", self.current)
            if int(os.environ.get("LOCAL_RANK", 0)) and not hasattr(self._thread, "chosen"):
                warn("this rank uses cuda:0: call torch.cuda.set_device(local_rank) before")
        if device.index >= self.count:
            raise torch.AcceleratorError("CUDA error: invalid device ordinal")
        self.initialized = True
        return device


gpus = PretendedGpus()


def warn(text: str) -> None:
    """Warn about code that raises no error on real GPUs but is slow, wasteful or wrong."""
    warnings.warn(f"Pretended GPUs: {text}.", stacklevel=3)


ours: list[Any] = []  # our replacements of torch's functions


def replace(home: Any, **names: Any) -> None:
    """Replace these attributes of `home`; raises `UnknownTorch` if it lacks one of them."""
    for name, new in names.items():
        insides.replace(home, name, new)
        ours.append(new)


def name_of(function: Any) -> str:
    """The name of an operation without its overload, such as ``aten::copy_``."""
    return f"{function.namespace}::{function.overloadpacket.__name__}"


# -- the device of a tensor ------------------------------------------------------------------------


def device_of(tensor: Tensor) -> torch.device | None:
    """The pretended device of a tensor, None if it has none yet."""
    return getattr(_storage(tensor), "pretended", None)


def put(tensor: Tensor, device: torch.device | None) -> Tensor:
    """Mark the storage of a tensor as being on this device; return the same tensor."""
    storage = _storage(tensor)
    if device is not None and storage is not None:
        storage.pretended = device
    return tensor


def _storage(tensor: Tensor) -> torch.UntypedStorage | None:
    try:
        storage = tensor.untyped_storage()
    except NotImplementedError:  # it has none, like a sparse tensor
        return None
    return None if storage.device.type == "meta" else storage  # it has a shape, but no memory


def common_device(name: str, tensors: list[Tensor]) -> torch.device | None:
    """The device of an operation; raises `RuntimeError`, as torch does, if its tensors disagree."""
    devices = [device_of(tensor) for tensor in tensors]
    strict = {
        device
        for tensor, device in zip(tensors, devices, strict=True)
        if device and not (device == CPU and tensor.dim() == 0)  # a CPU scalar goes with any
    }
    if len(strict) > 1 and name not in MAY_MIX:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{' and '.join(sorted(map(str, strict)))}! (in {name})"
        )
    first = [device for device in devices if device in strict] or list(filter(None, devices))
    return first[0] if first else None


class Devices(TorchDispatchMode):
    """Watches every operation of a thread; calls `collective` for those of torch.distributed."""

    collective: Callable[[Any, tuple, list[Tensor]], None] = staticmethod(lambda *_: None)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first operation would import torch._dynamo, which takes seconds

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        if any(hasattr(kind, "__tensor_flatten__") for kind in types):
            return NotImplemented  # a DTensor, whose operations on its parts come here again
        kwargs = dict(kwargs or {})
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        if function.namespace == "c10d":
            device = None
            self.collective(function, args, tensors)
        else:
            device = common_device(name_of(function), tensors)
        target = kwargs.get("device")
        if target == CPU and name_of(function) in FROM_C:
            target = None
        if target is not None and (tensors or target.type == "cuda"):
            device, kwargs["device"] = gpus.use(target), CPU
        result = function(*args, **kwargs)
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and device and device_of(tensor) is None:
                put(tensor, device)
        return result


# -- what Python sees of tensors -------------------------------------------------------------------

real_device, real_to, real_numpy = Tensor.device.__get__, Tensor.to, Tensor.numpy
real_array, real_deepcopy, real_new = Tensor.__array__, Tensor.__deepcopy__, Tensor.new_tensor


def shown(tensor: Tensor) -> torch.device:
    """Stand in for `tensor.device`."""
    return device_of(tensor) or real_device(tensor)


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Stand in for `Tensor.to`."""
    if args and isinstance(args[0], Tensor):
        other, *args = args
        args = (shown(other), other.dtype, *args)
    if args and isinstance(args[0], int):  # the index of a GPU
        args = (gpus.use(args[0]), *args[1:])
    copy = kwargs.pop("copy", False)
    device, dtype, _, memory_format = torch._C._nn._parse_to(*args, **kwargs)
    kwargs = {"memory_format": memory_format} if memory_format else {}
    home, device = shown(self), shown(self) if device is None else gpus.use(device)
    if device.type not in ("cpu", "cuda"):
        return real_to(self, device=device, dtype=dtype, copy=copy, **kwargs)
    moves = device != home
    result = real_to(self, dtype=dtype or self.dtype, copy=copy or moves, **kwargs)
    if moves and result.requires_grad:
        result.register_hook(lambda gradient: to(gradient, home))
    return put(result, device) if moves else result


def on_host(function: Callable) -> Callable:
    """Wrap a method that needs the tensor in the memory of the CPU."""

    @wraps(function)
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if shown(self).type == "cuda":
            raise TypeError(
                f"can't convert {shown(self)} device type tensor to numpy. "
                "Use Tensor.cpu() to copy the tensor to host memory first."
            )
        return function(self, *args, **kwargs)

    return call


def constructor(function: Callable) -> Callable:
    """Wrap a function that makes tensors; without a device, it makes them on the CPU."""

    @wraps(function)
    def make(*args: Any, device: Any = None, **kwargs: Any) -> Tensor:
        if device is None:
            made = function(*args, **kwargs)
            return made if device_of(made) else put(made, CPU)
        device = gpus.use(device)
        if device.type not in ("cpu", "cuda"):
            return function(*args, device=device, **kwargs)
        made = function(*args, device=CPU, **kwargs)
        return to(made, device) if device_of(made) else put(made, device)

    return make


def like_itself(self: Tensor, *args: Any, device: Any = None, **kwargs: Any) -> Tensor:
    """Stand in for `Tensor.new_tensor`."""
    return put(real_new(self, *args, **kwargs), shown(self) if device is None else gpus.use(device))


def watching_thread(run: Callable) -> Callable:
    """Wrap `Thread.run` to watch the operations of its thread."""

    @wraps(run)
    def watched(self: threading.Thread) -> None:
        with Devices():
            run(self)

    return watched


def install() -> None:
    """Let every tensor of this process have a pretended device, from now on."""
    names = [f for f in _device_constructors() if getattr(torch, f.__name__, None) is f]
    replace(torch, **{f.__name__: constructor(f) for f in (*names, torch.from_numpy)})
    replace(
        Tensor,
        device=property(shown),
        is_cuda=property(lambda self: shown(self).type == "cuda"),
        is_cpu=property(lambda self: shown(self).type == "cpu"),
        get_device=lambda self: -1 if shown(self).index is None else shown(self).index,
        to=to,
        cpu=lambda self, **_: to(self, CPU),
        cuda=lambda self, device=None, **_: to(self, "cuda" if device is None else device),
        numpy=on_host(real_numpy),
        __array__=on_host(real_array),
        new_tensor=like_itself,
        pin_memory=lambda self, *_: self,
        __deepcopy__=lambda self, memo: put(real_deepcopy(self, memo), device_of(self)),
    )
