"""What the checks of `hvd_fusion` do on each rank: batches and a buffer, without an engine."""

import importlib
from types import ModuleType

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.lab_06b.on_rank_hvd_negotiation import ask
from course.given.horovod import Answer, Request

SHAPES = ((2, 3), (), (4,), (1, 1, 2))


def fuse(*cases: tuple[int, list[tuple[str, int, dict]]]) -> list[list[str]]:
    """By case (threshold, operations as (name, bytes, details)): the names that travel together."""
    fused = []
    for threshold, expected in cases:
        answers = [
            Answer((name, 1), (_request(name, size, details),) * 2)
            for name, size, details in expected
        ]
        batches = importlib.import_module("hvd_fusion").fuse(answers, threshold)
        fused.append(["".join(answer.key[0] for answer in batch) for batch in batches])
    return fused


def _request(name: str, size: int, details: dict) -> Request:
    """A request for one tensor of `size` bytes, unless the details say otherwise."""
    elements = size // getattr(torch, details.get("dtype", "float32")).itemsize
    return ask(name, **{"shapes": ((elements,),)} | details)


def packed() -> dict[str, object]:
    """What pack and unpack do with four tensors of this rank, around one all-reduce: for float32,
    what becomes of the buffer; for each dtype, the elements that differ, as (got, wanted).
    """
    results, differing = {}, {}
    for dtype in (torch.float16, torch.float64, torch.int64, torch.float32):
        tensors = _tensors(dtype)
        before = [tensor.clone() for tensor in tensors]
        outputs = [torch.zeros_like(tensor) for tensor in tensors]
        buffer = torch.full((20,), 7, dtype=dtype)
        flat = fusion().pack(tensors, buffer)
        results = {
            "unchanged": not _differing(tensors, before),
            "elements": flat.numel(),
            "beyond": buffer.numel() == 20 and buffer[13:].eq(7).all().item(),
            "shared": flat.data_ptr() == buffer.data_ptr(),
        }
        dist.all_reduce(flat)
        fusion().unpack(flat, list(outputs))
        for tensor in before:
            dist.all_reduce(tensor)
        flat.zero_()  # as the next message does
        differing[str(dtype).removeprefix("torch.")] = _differing(outputs, before)
    return results | {"differing": differing}


def fusion() -> ModuleType:
    """The learner's module."""
    return importlib.import_module("hvd_fusion")


def _tensors(dtype: torch.dtype) -> list[Tensor]:
    """This rank's tensors: inf and nan among floating-point numbers, integers beyond 2**53."""
    generator = torch.Generator().manual_seed(dist.get_rank())
    tensors = [torch.randn(shape, generator=generator).mul(1e4).to(dtype) for shape in SHAPES]
    if dtype.is_floating_point:
        tensors[0][0, 0], tensors[2][1] = float("inf"), float("nan")
    else:
        tensors[0] += 2**53 + 1
    return tensors


def _differing(got: list[Tensor], expected: list[Tensor]) -> list[tuple[float, float]]:
    """The pairs of elements that differ; two nan do not."""
    pairs = [
        pair
        for a, b in zip(got, expected, strict=True)
        for pair in zip(a.flatten().tolist(), b.flatten().tolist(), strict=True)
    ]
    return [(a, b) for a, b in pairs if a != b and not (a != a and b != b)]
