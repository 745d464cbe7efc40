"""On a rank: run on tensors without memory, and make up plausible values if the script asks."""

import sys
from typing import Any

import torch
from torch import Tensor

from course.core import insides, user_files
from course.diagnostics.fit import lists, shapes
from course.diagnostics.fit.ledger import CPU, Args, Kwargs
from course.diagnostics.fit.torch_insides import (
    FakeTensor,
    FakeTensorMode,
    unset_fake_temporarily,
    value_of,
    without_dispatch,
)
from course.diagnostics.watch.lines import Lines

SAMPLERS = "torch/utils/data/"
# They make positions and orders. These are small, and programs branch on them, as transformers does
# on packed sequences, so they are real.
MAKE_POSITIONS = {"arange", "randperm"}
# The value of each of these tests, for all numbers of a healthy training run.
HEALTHY = {"isfinite": True, "isnan": False, "isinf": False, "isposinf": False, "isneginf": False}
FILLED = {"zeros": 0, "ones": 1, "zeros_like": 0, "ones_like": 1, "new_zeros": 0, "new_ones": 1}
# Comparisons that are false in the middle of training: no loss is below a tolerance yet.
COMPARISONS = {"lt", "le", "eq"}
# Operations whose result has the value that all numbers of their argument share.
KEEP_VALUE = {"all", "any", "clone", "_to_copy", "detach", "view", "squeeze", "unsqueeze", "expand",
              "alias", "mean", "max", "min", "sum"}  # fmt: skip


class Values:
    """Runs operations on fake tensors; `assumed` has the lines for which it made up a value."""

    def __init__(self, lines: Lines) -> None:
        self._lines, self._shapes = lines, shapes.Shapes()
        self.assumed: dict[str, None] = {}

    def run(self, function: Any, given: list[Tensor], args: Args, kwargs: Kwargs) -> Any:
        """Carry out an operation; `given` are the tensors among its arguments."""
        if function.namespace == "prim":
            tensor = args[0]
            return tensor.fake_device if isinstance(tensor, FakeTensor) else function(*args)
        if function.namespace == "profiler":
            with without_dispatch():
                return function(*args, **kwargs)
        name = function.overloadpacket.__name__
        if name == "_local_scalar_dense":
            return self._scalar(args[0])
        if name in MAKE_POSITIONS and kwargs.get("device") in (None, CPU):
            with unset_fake_temporarily():
                return function(*args, **kwargs)
        if name == "equal":
            self._assume()
            return True
        if given and not any(isinstance(operand, FakeTensor) for operand in given):
            with unset_fake_temporarily():  # the script's data: small, and its values count
                return function(*args, **kwargs)
        if _selects(name, args):
            self._assume()
            return _all_selected(name, function, args)
        result = self._shapes.run(function, given, args, kwargs)
        if isinstance(result, FakeTensor):
            result.known = _known(name, args)
            result.guess = name not in COMPARISONS
        return result

    def _scalar(self, tensor: Tensor) -> bool | int | float:
        constant = getattr(tensor, "constant", None)
        if not isinstance(tensor, FakeTensor) or constant is not None:
            with unset_fake_temporarily():
                return value_of(tensor if constant is None else constant)
        number = getattr(tensor, "known", None)
        if number is None:
            self._assume()
            number = getattr(tensor, "guess", True)
        return to_python(tensor.dtype, number)

    def _assume(self) -> None:
        frame = sys._getframe(1)
        while frame and frame.f_code.co_filename.startswith(user_files.COURSE):
            frame = frame.f_back
        if frame and SAMPLERS in frame.f_code.co_filename:
            return  # it asks for a seed
        if line := self._lines.of(frame):
            self.assumed[line] = None

    def install(self) -> None:
        """From now on, let Python get whole lists and arrays of values from fake tensors."""
        values = self

        def filled(tensor: FakeTensor) -> Tensor:
            if tensor.constant is not None:
                return tensor.constant
            values._assume()
            number = getattr(tensor, "known", None)
            with unset_fake_temporarily():
                value = to_python(tensor.dtype, 1 if number is None else number)
                return torch.full(tensor.shape, value, dtype=tensor.dtype)

        def with_values(real: Any) -> Any:
            def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
                if isinstance(self, FakeTensor):
                    self = filled(self)
                with unset_fake_temporarily(), without_dispatch():
                    return real(self, *args, **kwargs)

            return call

        for name in ("tolist", "numpy", "__array__"):
            setattr(Tensor, name, with_values(getattr(Tensor, name)))
        insides.replace(Tensor, "__format__", _formatted(Tensor.__format__))
        insides.replace(Tensor, "__deepcopy__", _deep_copied(Tensor.__deepcopy__))
        storage = torch.UntypedStorage
        insides.replace(storage, "copy_", _copied_for_real(storage.copy_))
        insides.replace(torch.utils, "swap_tensors", _swapped(torch.utils.swap_tensors))
        lists.look_once_at_each_form()


def mode() -> FakeTensorMode:
    """Torch's mode for tensors without memory, which also lets them meet real ones of the data."""
    return FakeTensorMode(allow_non_fake_inputs=True)


def to_python(dtype: torch.dtype, value: float) -> bool | int | float:
    """Convert a value to Python's type for this dtype."""
    if dtype is torch.bool:
        return bool(value)
    return float(value) if dtype.is_floating_point else int(value)


def _formatted(real: Any) -> Any:
    def formatted(self: Tensor, spec: str) -> str:
        if isinstance(self, FakeTensor) and not self.dim():
            return self.item().__format__(spec)
        return real(self, spec)

    return formatted


def _deep_copied(real: Any) -> Any:
    """Wrap the deep copy of a tensor, which would also copy the mode that a fake one belongs to."""

    def deep_copied(self: Tensor, memo: dict[int, Any]) -> Tensor:
        if isinstance(self, FakeTensor):
            memo[id(self.fake_mode)] = self.fake_mode
        return real(self, memo)

    return deep_copied


def _copied_for_real(real: Any) -> Any:
    """Wrap the copy of a storage, whose memory is real even while new tensors are fake."""

    def copy_(self: torch.UntypedStorage, *args: Any, **kwargs: Any) -> Any:
        with unset_fake_temporarily(), without_dispatch():
            return real(self, *args, **kwargs)

    return copy_


def _swapped(real: Any) -> Any:
    """Wrap the swap in `nn.Module.to`, which fails for fake parameters with hooks or weakrefs."""

    def swap(parameter: Tensor, other: Tensor) -> None:
        if isinstance(parameter, FakeTensor) and isinstance(other, FakeTensor):
            parameter.data = other.data
        else:
            real(parameter, other)

    return swap


def _selects(name: str, args: Args) -> bool:
    """Whether an operation selects by values that a rehearsal does not have."""
    if name == "index":
        return any(map(_is_mask, args[1]))
    return name in ("nonzero", "masked_select")


def _all_selected(name: str, function: Any, args: Args) -> Tensor:
    """The result of such an operation if it selects all, which a real run never exceeds."""
    if name == "nonzero":
        return _positions(args[0])
    if name == "masked_select":
        return args[0].new_empty(torch.broadcast_shapes(*(tensor.shape for tensor in args)).numel())
    places: list[Tensor | None] = []
    for index in args[1]:
        places += _positions(index).unbind(1) if _is_mask(index) else [index]
    return function(args[0], places)


def _is_mask(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.dtype in (torch.bool, torch.uint8)


def _positions(tensor: Tensor) -> Tensor:
    return torch.empty((tensor.numel(), tensor.dim()), dtype=torch.int64)


def _known(name: str, args: Args) -> float | None:
    """The value that all numbers of a result share; None if it is not known."""
    if name in HEALTHY:
        return HEALTHY[name]
    if name in FILLED:
        return FILLED[name]
    if name == "full":
        return args[1]
    if name in KEEP_VALUE and args and isinstance(args[0], Tensor):
        return getattr(args[0], "known", None)
    if name == "logical_not":
        number = getattr(args[0], "known", None)
        return None if number is None else not number
    return None
