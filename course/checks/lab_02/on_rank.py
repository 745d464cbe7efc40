"""What the checks of lab 02 do on each rank: run the learner's all-reduce and bring back what it made and sent."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import distributed_c10d

COLLECTIVES = (
    "all_",
    "_all_",
    "reduce",
    "_reduce",
    "broadcast",
    "_broadcast",
    "gather",
    "scatter",
)  # how they begin
DTYPES = (torch.int64, torch.bfloat16, torch.float16, torch.float32, torch.float64)


def numbers(rank: int, shape: tuple[int, ...], dtype: torch.dtype = torch.int64) -> Tensor:
    """What a rank holds: numbers whose sums over a few ranks are exact in that dtype, whatever their order."""
    generator = torch.Generator().manual_seed(1000 + rank)
    # Past 2⁵³ a detour over floating point would show; bfloat16 has 8 bits, so sums up to 256 are exact.
    low, high = (-(2**60), 2**60) if dtype == torch.int64 else (0, 32)
    return torch.randint(low, high, shape, generator=generator).to(dtype)


def total(world_size: int, shape: tuple[int, ...], dtype: torch.dtype = torch.int64) -> Tensor:
    """The reference: one process adds up what all ranks hold."""
    return torch.stack([numbers(rank, shape, dtype) for rank in range(world_size)]).sum(
        0, dtype=dtype
    )


def ways(module: str, names: tuple[str, ...]) -> dict[str, Callable[[Tensor], None]]:
    """The learner's functions by name."""
    return {name: getattr(importlib.import_module(module), name) for name in names}


def sums(
    module: str, names: tuple[str, ...], shapes: tuple[tuple[int, ...], ...], dtypes: tuple = (torch.int64,)
) -> dict[str, dict]:  # fmt: skip
    """By name of the function: what it leaves on this rank for each shape and dtype."""
    left: dict[str, dict] = {}
    for name, all_reduce in ways(module, names).items():
        for shape in shapes:
            for dtype in dtypes:
                tensor = numbers(dist.get_rank(), shape, dtype)
                all_reduce(tensor)
                left.setdefault(name, {})[shape, dtype] = tensor
    return left


def views(module: str, names: tuple[str, ...]) -> dict[str, tuple[Tensor, Tensor]]:
    """A transposed view with gaps, reduced in place: the view, and the columns that lie in its gaps."""
    left = {}
    for name, all_reduce in ways(module, names).items():
        whole = numbers(dist.get_rank(), (4, 6))
        all_reduce(whole[:, ::2].t())
        left[name] = whole[:, ::2].t().contiguous(), whole[:, 1::2].contiguous()
    return left


def rounded(module: str, names: tuple[str, ...]) -> dict[str, Tensor]:
    """Numbers of very different sizes, whose float32 sum depends on the order."""
    left = {}
    generator = torch.Generator().manual_seed(dist.get_rank())
    for name, all_reduce in ways(module, names).items():
        tensor = torch.randn(500, generator=generator) * 10.0 ** torch.randint(
            -6, 7, (500,), generator=generator
        )
        all_reduce(tensor)
        left[name] = tensor
    return left


def traffic(
    module: str, names: tuple[str, ...], lengths: tuple[int, ...]
) -> dict[str, list[list[tuple[int, int]]]]:
    """By name of the function, for each length: (to whom, how many elements) of each message that this rank sends."""
    sent = {}
    with counted() as log:
        for name, all_reduce in ways(module, names).items():
            sent[name] = []
            for length in lengths:
                log.clear()
                all_reduce(numbers(dist.get_rank(), (length,)))
                sent[name].append(list(log))
    return sent


def without_library(module: str, names: tuple[str, ...]) -> dict[str, Tensor]:
    """A sum with torch's own collectives made unusable."""
    with refused():
        left = {}
        for name, all_reduce in ways(module, names).items():
            left[name] = numbers(dist.get_rank(), (12,))
            all_reduce(left[name])
    return left


def scattered(length: int) -> tuple[Tensor, list[int]]:
    """After the ring's reduce-scatter: the whole buffer, and where its chunks begin."""
    flat = numbers(dist.get_rank(), (length,))
    chunks = flat.tensor_split(dist.get_world_size())
    importlib.import_module("ring").reduce_scatter(chunks)
    return flat, starts(chunks)


def gathered(length: int) -> Tensor:
    """The ring's all-gather alone: only chunk (rank + 1) % world size is right when it begins."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    flat = torch.full((length,), -1)
    chunks = flat.tensor_split(world_size)
    mine = (rank + 1) % world_size
    chunks[mine].copy_(total(world_size, (length,)).tensor_split(world_size)[mine])
    importlib.import_module("ring").all_gather(chunks)
    return flat


def starts(chunks: tuple[Tensor, ...]) -> list[int]:
    """The index of each chunk's first element, and behind the last chunk its end."""
    ends = torch.tensor([0, *(len(chunk) for chunk in chunks)]).cumsum(0)
    return ends.tolist()


@contextmanager
def counted() -> Iterator[list[tuple[int, int]]]:
    """Within it, every message that this rank sends is noted: (to whom, how many elements)."""
    log: list[tuple[int, int]] = []

    def counting(real: Callable) -> Callable:
        def send(tensor: Tensor, dst: int | None = None, *args: object, **kwargs: object) -> object:
            log.append((dst if dst is not None else kwargs["group_dst"], tensor.numel()))
            return real(tensor, dst, *args, **kwargs)

        return send

    with replaced(
        {"isend": counting(dist.isend)}
    ):  # `send` and `batch_isend_irecv` come through it, too
        yield log


@contextmanager
def refused() -> Iterator[None]:
    """Within it, torch's collectives raise."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError(
            "it calls one of torch's collectives; only single messages are allowed"
        )

    with replaced(
        {
            name: refuse
            for name in vars(dist)
            if name.startswith(COLLECTIVES) and name != "reduce_op"
        }
    ):
        yield


@contextmanager
def replaced(functions: dict[str, Callable]) -> Iterator[None]:
    """Within it, `torch.distributed` has these functions, for the learner's module, which is imported afresh, too."""
    homes = (dist, distributed_c10d)  # batch_isend_irecv looks its messages up in the second
    real = {
        (home, name): getattr(home, name)
        for home in homes
        for name in functions
        if hasattr(home, name)
    }
    for home, name in real:
        setattr(home, name, functions[name])
    try:
        yield
    finally:
        for (home, name), function in real.items():
            setattr(home, name, function)
