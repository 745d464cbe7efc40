"""What the checks of data_parallel do with inputs and outputs in dicts, lists and tuples."""

from collections import OrderedDict

import torch
from torch import Tensor, nn

from course.checks.lab_01.on_rank_data_parallel import data_parallel, where
from course.checks.lab_01.on_rank_values import in_words
from course.checks.tools.reference import CLOSE, WIDTH

BIG = 2**60  # such an integer, and its neighbours, are one number in floats


class Nested(nn.Module):
    """A model whose inputs and outputs lie in dicts, lists and tuples; some inputs are named."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, fields: dict, pair: tuple, *, scale: Tensor, note: str = "") -> dict:
        """Outputs that depend on every tensor among the inputs."""
        if not isinstance(fields, dict) or type(pair) is not tuple or type(pair[1]) is not list:
            raise AssertionError(
                f"a replica got {type(fields).__name__}, {type(pair).__name__} "
                "instead of dict, tuple"
            )
        deepest = fields["deep"][0]["ids"], {"ids": pair[1][1]["ids"]}
        sizes = {len(part) for part in (fields["x"], *pair[1][:1], scale, deepest[0])}
        if len(sizes) > 1:
            raise AssertionError(f"the entries that a replica got have {sizes} samples")
        first = self.layer(fields["x"]) * scale
        second = pair[0] + pair[1][0]
        rest = second, [first + second, second, deepest]
        return OrderedDict(first=first, rest=rest, note=note, nothing=None, count=3, share=0.5)


def nested(cases: list[tuple[int, int]], kind: str) -> list[str]:
    """What is wrong with nested "inputs" or "outputs" (the `kind`); "" if nothing is.

    Each case is (samples, devices).
    """
    return [_nested(*case, kind) for case in cases]


def _nested(samples: int, devices: int, kind: str) -> str:
    model, draw = Nested(), torch.Generator().manual_seed(0)
    x, y, z, scale = (torch.randn(samples, WIDTH, generator=draw) for _ in range(4))
    y[0, 0], z[-1, -1] = torch.nan, torch.inf
    ids = BIG + torch.arange(samples)
    fields = {"x": x, "deep": [{"ids": ids}]}
    args, kwargs = (fields, (y, [z, {"ids": -ids}])), {"scale": scale, "note": "as it is"}
    got = data_parallel()(model, where(devices), *args, **kwargs)
    expected = model(*args, **kwargs)
    if kind == "outputs":
        return different(got, expected)
    return (
        "" if close(got["first"], expected["first"]) else "the inputs reach the replicas mixed up"
    )


def close(left: Tensor, right: Tensor) -> bool:
    """Whether two tensors are the same, up to the order in which floats were summed."""
    same = left.shape == right.shape
    return same and torch.allclose(left, right, atol=CLOSE, equal_nan=True)


def different(got: object, expected: object, place: str = "the output") -> str:
    """The first difference between nested values, "" if there is none."""
    if type(got) is not type(expected):
        return f"{place} is {in_words(got)} instead of {in_words(expected)}"
    if isinstance(expected, Tensor):
        if got.dtype != expected.dtype:
            return f"{place} has {got.dtype} instead of {expected.dtype}"
        return (
            "" if close(got, expected) else f"{place} has other values than the model alone gives"
        )
    if isinstance(expected, dict):
        if list(got) != list(expected):
            return f"{place} has the entries {list(got)} instead of {list(expected)}"
        parts = [(got[name], expected[name], f"{place}[{name!r}]") for name in expected]
    elif isinstance(expected, (tuple, list)):
        if len(got) != len(expected):
            return f"{place} has {len(got)} entries instead of {len(expected)}"
        parts = [
            (a, b, f"{place}[{i}]") for i, (a, b) in enumerate(zip(got, expected, strict=True))
        ]
    else:
        return "" if got == expected else f"{place} is {got!r} instead of {expected!r}"
    return next((difference for part in parts if (difference := different(*part))), "")
