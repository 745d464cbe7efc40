"""On a rank: carry out operations on fake tensors without asking torch twice for the same result.

A rehearsal would spend nearly all its time in torch's `FakeTensorMode`, which examines each call
from many sides. A model repeats its layers and its steps, so most calls have been seen before.
Calls that this module cannot answer by itself go to torch.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course.diagnostics.fit.ledger import Args, Kwargs
from course.diagnostics.fit.torch_insides import (
    FakeTensor,
    in_kernel_invocation,
    schema_of,
    storage_of,
    without_dispatch,
)

# What an operation does: must be left to torch, changes its first argument, returns views of its
# arguments, or makes new memory.
ASKS, CHANGES, VIEWS, MAKES = range(4)
# Operations that return views, although their schemas say that they make memory.
HIDDEN_VIEWS = {"aten::_unsafe_view", "fsdp::all_gather_copy_in"}


class Shapes:
    """Carries out operations on tensors that are all fake."""

    def __init__(self) -> None:
        self._effects: dict[Any, int] = {}
        self._results: dict[tuple[Any, ...], Any] = {}

    def run(self, function: Any, given: list[Tensor], args: Args, kwargs: Kwargs) -> Any:
        """The result of an operation; `given` are the tensors among its arguments."""
        effect = self._effects.get(function)
        if effect is None:
            effect = self._effects[function] = _effect(function)
        if effect == ASKS or not all(map(_is_plain, given)):
            return function(*args, **kwargs)
        if effect == CHANGES:
            return args[0] if schema_of(function).returns else None
        if effect == VIEWS:
            first: FakeTensor = given[0]
            mode, device = first.fake_mode, first.fake_device
            with in_kernel_invocation(mode):
                result = function(*args, **kwargs)
                return _each(result, lambda view: _as_fake(mode, view, device))
        return self._remembered(function, given, args, kwargs)

    def _remembered(self, function: Any, given: list[Tensor], args: Args, kwargs: Kwargs) -> Any:
        key = (function, _key(args), _key(tuple(kwargs.items())))
        forms = self._results.get(key)
        if forms is not None:
            with without_dispatch():
                return _each(forms, _Form.tensor)
        result = function(*args, **kwargs)
        made = [result] if isinstance(result, Tensor) else result
        if all(map(_is_plain, made)) and not _share(given, made):
            self._results[key] = _each(result, _Form)
        return result


class _Form:
    """All that defines a fake tensor."""

    def __init__(self, tensor: Any) -> None:
        self._mode, self._fake_device = tensor.fake_mode, tensor.fake_device
        self._dtype = tensor.dtype
        self._shape, self._stride = tuple(tensor.shape), tensor.stride()

    def tensor(self) -> Tensor:
        """Make a new tensor of this form."""
        empty = torch.empty_strided(self._shape, self._stride, dtype=self._dtype, device="meta")
        return FakeTensor(self._mode, empty, self._fake_device)


def _effect(function: Any) -> int:
    """Which of `ASKS`, `CHANGES`, `VIEWS` and `MAKES` an operation is, judging by its schema."""
    schema = schema_of(function)
    if schema.name in HIDDEN_VIEWS:
        return VIEWS
    if function.namespace == "fsdp" and not schema.returns:
        return CHANGES
    if function.namespace != "aten" or torch.Tag.inplace_view in function.tags:
        return ASKS
    written = [
        argument
        for argument in schema.arguments
        if argument.alias_info and argument.alias_info.is_write
    ]
    if written:
        only_first = len(written) == 1 and written[0].name == schema.arguments[0].name
        return CHANGES if only_first and len(schema.returns) <= 1 else ASKS
    if not all(str(output.type) in ("Tensor", "List[Tensor]") for output in schema.returns):
        return ASKS
    return VIEWS if any(output.alias_info for output in schema.returns) else MAKES


def _as_fake(mode: Any, tensor: Tensor, device: torch.device) -> Tensor:
    """Wrap a meta tensor that torch returned as a fake one; an argument is fake already."""
    return tensor if isinstance(tensor, FakeTensor) else FakeTensor(mode, tensor, device)


def _is_plain(tensor: Any) -> bool:
    """Whether a fake tensor has nothing but a form: no value, and no unusual layout."""
    return (
        type(tensor) is FakeTensor
        and tensor.constant is None
        and tensor.layout is torch.strided
        and not tensor.dtype.is_complex
    )


def _key(value: Any) -> Any:
    """A value as part of a key, in which 1, 1.0 and True differ."""
    if isinstance(value, FakeTensor):
        return value.shape, value.stride(), value.dtype, value.fake_device
    if isinstance(value, (list, tuple)):
        return tuple(map(_key, value))
    return type(value), value


def _each(result: Any, make: Callable[[Any], Any]) -> Any:
    """Apply `make` to each part of a result, and return a result of the same structure."""
    if isinstance(result, (list, tuple)):
        return type(result)(map(make, result))
    return make(result)


def _share(given: list[Tensor], made: Any) -> bool:
    """Whether a result shares memory with an argument."""
    before = set(map(storage_of, given))
    return any(storage_of(tensor) in before for tensor in made)
