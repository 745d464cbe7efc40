"""What the checks of `hvd_fusion` do on each rank: batches and a buffer, without an engine."""

import importlib

import torch
import torch.distributed as dist

from course.checks.lab_06.on_rank_hvd_negotiation import ask
from course.given.horovod import Answer

SHAPES = ((2, 3), (), (4,), (1, 1, 2))


def fuse(*cases: tuple[int, list[tuple[str, int, dict]]]) -> list[list[str]]:
    """By case (threshold, operations as (name, bytes, details)): the names that travel together."""
    fused = []
    for threshold, wanted in cases:
        answers = [
            Answer((name, 1), tuple(ask(name, bytes=size, **details) for _ in range(2)))
            for name, size, details in wanted
        ]
        batches = importlib.import_module("hvd_fusion").fuse(answers, threshold)
        fused.append(["".join(answer.key[0] for answer in batch) for batch in batches])
    return fused


def packed() -> dict[str, object]:
    """What pack and unpack do with four tensors of this rank, around one all-reduce."""
    fusion = importlib.import_module("hvd_fusion")
    generator = torch.Generator().manual_seed(dist.get_rank())
    tensors = [torch.randn(shape, generator=generator) for shape in SHAPES]
    before = [tensor.clone() for tensor in tensors]
    outputs = [torch.full(shape, float("nan")) for shape in SHAPES]
    given = list(outputs)
    buffer = torch.full((20,), 7.0)
    flat = fusion.pack(tensors, buffer)
    unchanged = all(torch.equal(a, b) for a, b in zip(tensors, before, strict=True))
    elements, beyond = flat.numel(), buffer.numel() == 20 and buffer[13:].eq(7).all().item()
    shared = flat.data_ptr() == buffer.data_ptr()
    dist.all_reduce(flat)
    fusion.unpack(flat, outputs)
    for tensor in before:
        dist.all_reduce(tensor)
    flat.zero_()  # as the next message does
    off = max(float((a - b).abs().nan_to_num(9).max()) for a, b in zip(given, before, strict=True))
    return {
        "off": off,
        "unchanged": unchanged,
        "elements": elements,
        "beyond": beyond,
        "shared": shared,
    }
