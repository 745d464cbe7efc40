"""Turn the results of ranks into text and back: plain values, tensors, and recorded calls.

The text comes from a process that ran a learner's code, so it cannot be trusted. It has no
references and no names of code, and the bytes of a tensor are written in full. So reading it takes
memory in proportion to its length, and executes nothing.
"""

import base64
import json
import math
import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from course.checks.tools.recorder import Call
from course.core import words

LONGEST = 8 * words.MIB  # of an answer; the longest of the solutions has 2.2 MiB
MOST_THINGS = 100_000  # in an answer; a list that contains itself would have no end
PLAIN = (bool, int, float, str, type(None))
COLLECTIONS = {"list": list, "tuple": tuple, "set": set}


def is_call(file: Path) -> bool:
    """Whether the file of a rank still has its call, a pickle, which an answer is not."""
    with file.open("rb") as content:
        return content.read(1) == pickle.PROTO


def encode(thing: Any) -> bytes:
    """A rank's result as text; raises `TypeError` or `ValueError` if that is impossible."""
    text = json.dumps(_Writer().for_json(thing)).encode()
    if len(text) > LONGEST:
        raise ValueError(f"more than {words.size(LONGEST)} cannot be handed to a check")
    return text


def decode(text: bytes) -> Any:
    """The result that `encode` turned into text; raises any `Exception` for other text."""
    if len(text) > LONGEST:
        raise ValueError("the text is too long")
    return _result(json.loads(text))


class _Writer:
    """Prepares a result for JSON: plain values stay, others become an object with their kind."""

    def __init__(self) -> None:
        self._things = 0

    def for_json(self, thing: Any) -> Any:
        self._things += 1
        if self._things > MOST_THINGS:
            raise ValueError(f"more than {MOST_THINGS:,} things cannot be handed to a check")
        if isinstance(thing, Tensor):
            return {"tensor": _tensor_for_json(thing.detach())}
        if isinstance(thing, torch.dtype):
            return {"dtype": str(thing)}
        if isinstance(thing, Call):
            return {"call": [self.for_json(getattr(thing, field.name)) for field in fields(Call)]}
        if isinstance(thing, dict):
            pairs = thing.items()
            return {"dict": [[self.for_json(key), self.for_json(value)] for key, value in pairs]}
        for name, kind in COLLECTIONS.items():
            if isinstance(thing, kind):
                return {name: [self.for_json(item) for item in thing]}
        if isinstance(thing, PLAIN):
            return thing
        raise TypeError(f"a {type(thing).__name__} cannot be handed to a check")


def _tensor_for_json(tensor: Tensor) -> list:
    if tensor.nbytes > LONGEST:
        size = words.size(tensor.nbytes)
        raise ValueError(f"a tensor of {size} is too large to be handed to a check")
    content = tensor.cpu().reshape(-1).contiguous().view(torch.uint8).numpy().tobytes()
    return [str(tensor.dtype), list(tensor.shape), base64.b64encode(content).decode()]


def _result(data: Any) -> Any:
    if isinstance(data, PLAIN):
        return data
    ((kind, content),) = data.items()
    if kind == "tensor":
        return _tensor(*content)
    if kind == "dtype":
        return _dtype(content)
    if kind == "call":
        return Call(*map(_result, content))
    if kind == "dict":
        return {_result(key): _result(value) for key, value in content}
    return COLLECTIONS[kind](map(_result, content))


def _tensor(dtype: str, shape: list[int], content: str) -> Tensor:
    kind, memory = _dtype(dtype), bytearray(base64.b64decode(content, validate=True))
    if min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize != len(memory):
        raise ValueError("a tensor has other bytes than its shape says")
    if not memory:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(memory, dtype=kind).reshape(shape)


def _dtype(name: str) -> torch.dtype:
    dtype = getattr(torch, name.removeprefix("torch."))
    if not isinstance(dtype, torch.dtype):
        raise TypeError("expected a dtype")
    return dtype
