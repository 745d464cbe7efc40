"""An operation that was seen before has the result that torch itself would give."""

from collections.abc import Callable

import pytest
import torch
import torch.distributed.fsdp  # defines operations of its own
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from course.diagnostics.fit import ledger, values
from course.diagnostics.fit.shapes import Shapes
from course.diagnostics.fit.torch_insides import storage_of

OPERATIONS: dict[str, Callable[[Tensor], object]] = {
    "makes": lambda x: x @ x.T,
    "makes_several": lambda x: torch.ops.aten.native_layer_norm(x, [4], None, None, 1e-5),
    "makes_a_list": lambda x: torch._foreach_add([x, x], 1),
    "casts": lambda x: x.to(torch.bfloat16),
    "integer": lambda x: x.sum(dim=0).argmax(),
    "views": lambda x: x.view(2, 8).transpose(0, 1),
    "views_in_a_list": lambda x: x.split(2),
    "hidden_view": lambda x: torch.ops.aten._unsafe_view(x, [16]),
    "hidden_views_of_fsdp": lambda x: torch.ops.fsdp.all_gather_copy_in(
        [x.view(-1)[:8]], x.view(-1), [8], 8, 1
    ),
    "changes": lambda x: x.mul_(2),
    "returns_nothing": lambda x: torch.ops.fsdp.chunk_cat([x, x], 0, 2, out=x.new_empty(2, 16)),
    "changes_form": lambda x: x.unsqueeze_(0),
    "one_is_not_true": lambda x: (torch.full_like(x, 1), x.new_full((2,), True, dtype=torch.bool)),
}


class Remembers(TorchDispatchMode):
    """Carries out all operations with `Shapes`."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes = Shapes()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = ledger.tensors((*args, *kwargs.values()))
        return self.shapes.run(function, given, args, kwargs)


def form(result: object, x: Tensor) -> list[tuple]:
    """All that can be seen of a result, and whether it shares the memory of `x`."""
    parts = ledger.tensors(result if isinstance(result, (list, tuple)) else [result])
    return [
        (part.shape, part.stride(), part.dtype, part.device, storage_of(part) == storage_of(x))
        for part in parts
    ]


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_second_time_is_like_the_first(name: str) -> None:
    with values.mode():
        x = torch.empty(4, 4)
        expected = form(OPERATIONS[name](x), x)
        with Remembers():
            for _ in range(2):
                x = torch.empty(4, 4)
                assert form(OPERATIONS[name](x), x) == expected


def test_no_result_is_handed_out_twice() -> None:
    with values.mode(), Remembers():
        x = torch.empty(4, 4)
        results = [x + 1 for _ in range(3)]
        assert len(set(map(storage_of, results))) == 3


def test_what_torch_refuses_stays_refused() -> None:
    with values.mode(), Remembers():
        for _ in range(2):
            with pytest.raises(RuntimeError):
                torch.empty(4, 4) @ torch.empty(3, 3)
