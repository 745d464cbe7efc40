"""NCCL made of Gloo: it refuses what NCCL would refuse. `nccl.md` lists how this can fail."""

import functools
import os
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import ProcessGroup, ProcessGroupGloo, device_mesh
from torch.distributed import distributed_c10d as c10d

from course.core import UnknownTorch
from course.pretended.tensors import (
    CPU,
    Devices,
    device_of,
    gpus,
    name_of,
    replace,
    warn,
)

CUDA = torch.device("cuda")
MESSAGES = ("c10d::send", "c10d::recv_")
communicators: dict[str, torch.device] = {}  # the GPU that this rank uses, by the group's name
broken: set[str] = set()  # the names of groups that have lost a connection
# Keeps every group alive: Gloo's destructor waits for its threads while it holds the GIL, which
# they need to free a tensor that has a pretended device.
every_group: list[ProcessGroup] = []
batched = False  # whether a `batch_isend_irecv` is in progress


class Nccl(ProcessGroupGloo):
    """Gloo under the name of NCCL."""

    class Options(SimpleNamespace):
        """The options that torch passes to NCCL."""

    def __init__(
        self,
        store: Any,
        rank: int,
        size: int,
        options: Options,
        device: torch.device | None = None,  # only torch 2.15 and later pass it
    ) -> None:
        super().__init__(store, rank, size, timeout=options._timeout)


def backends(group: ProcessGroup) -> dict[str, str]:
    """The name of a group's backend, by the type of device."""
    return dict(pair.split(":") for pair in dist.get_backend_config(group).split(","))


def collective(function: Any, args: tuple, tensors: list[Tensor]) -> None:
    """Raise an error if NCCL would refuse this operation of torch.distributed."""
    name, group = name_of(function), _group(args)
    if group.group_name in broken:
        raise RuntimeError("Connection closed by peer [127.0.0.1]")
    devices = {device for device in map(device_of, tensors) if device}
    if not devices:
        return
    device = devices.pop()
    backend = backends(group).get(device.type)
    if backend is None:
        raise RuntimeError(f"No backend type associated with device type {device.type}")
    if devices:
        raise RuntimeError(f"{name}: tensors on {device} and {', '.join(map(str, devices))}")
    if backend == "gloo" and device.type == "cuda" and name in MESSAGES:
        broken.add(group.group_name)
        warn("Gloo sends what lies on a GPU, and its thread may end the process for it")
        raise RuntimeError("writev [127.0.0.1]: Bad address")  # Linux gets a GPU's address
    if backend == "nccl":
        if device.index != gpus.current:
            warn(f"NCCL is given a tensor on {device} while cuda:{gpus.current} is current")
        if name not in MESSAGES or batched:
            connect(group, device)
        elif group.bound_device_id:
            warn("An unbatched P2P op (send/recv) was called on this ProcessGroup")


def _group(args: tuple) -> ProcessGroup:
    """The group among the arguments of an operation."""
    for boxed in args:
        if isinstance(boxed, torch.ScriptObject) and boxed._type().name() == "ProcessGroup":
            return ProcessGroup.unbox(boxed)
    raise UnknownTorch(f"torch {torch.__version__} gives an operation no group.")


def connect(group: ProcessGroup, device: torch.device) -> None:
    """Make this rank's communicator at the first use of the group.

    Raises `DistBackendError`, as NCCL does, unless each rank has a GPU of its own.
    """
    if group.group_name in communicators:
        if communicators[group.group_name] != device:
            there = communicators[group.group_name]
            raise dist.DistBackendError(f"the group communicates from {there}, not from {device}")
        return
    communicators[group.group_name] = device
    mine = torch.tensor([int(os.environ.get("GROUP_RANK", 0)), device.index])
    everyones = [torch.empty_like(mine) for _ in range(group.size())]
    group._get_backend(CUDA).allgather([everyones], [mine]).wait()
    places = [tuple(place.tolist()) for place in everyones]
    if len(set(places)) < len(places):
        raise dist.DistBackendError(
            f"ncclInvalidUsage: Duplicate GPU detected: (node, GPU) by rank is {places}"
        )


def with_cpu_route(make_group: Callable) -> Callable:
    """Wrap torch's function that makes groups, so that Gloo takes NCCL's tensors, on the CPU."""

    @functools.wraps(make_group)
    def make(*args: Any, **kwargs: Any) -> tuple:
        group, store = make_group(*args, **kwargs)
        if not isinstance(group, ProcessGroup):
            return group, store  # this rank is not a member
        every_group.append(group)
        communicators.pop(group.group_name, None)  # of an earlier group of this name
        broken.discard(group.group_name)
        if backends(group).get("cuda") == "nccl":
            if "cpu" not in backends(group):
                kind = ProcessGroup.BackendType.NCCL
                group._register_backend(CPU, kind, group._get_backend(CUDA))
            if group.bound_device_id:  # otherwise NCCL connects at the first use
                connect(group, gpus.use(group.bound_device_id))
        return group, store

    return make


def for_objects(real: Callable) -> Callable:
    """Wrap torch's function that chooses the device through which a group sends objects."""
    return lambda group=None: (
        "cuda" if "cpu" not in backends(group or dist.group.WORLD) else real(group)
    )


def split_group(parent_pg: ProcessGroup, split_ranks: list[list[int]], **options: Any) -> Any:
    """Split a group for a device mesh; Gloo cannot split one, so this makes new groups."""
    options.pop("pg_options")
    groups = [dist.new_group(ranks, **options) for ranks in split_ranks]
    return next((group for group in groups if isinstance(group, ProcessGroup)), None)


def in_a_batch(send_all: Callable) -> Callable:
    """Wrap `batch_isend_irecv`, whose messages NCCL takes as one operation."""

    @functools.wraps(send_all)
    def call(*args: Any, **kwargs: Any) -> list:
        global batched
        batched = True
        try:
            return send_all(*args, **kwargs)
        finally:
            batched = False

    return call


def install() -> None:
    """Make torch.distributed believe that it has NCCL, from now on."""
    # A CPU build has neither; the second is the one that torch 2.15 makes for "nccl".
    c10d.ProcessGroupNCCL = c10d.ProcessGroupNCCL2 = Nccl
    replace(torch.cuda.nccl, version=lambda: (2, 28, 9))  # errors of torch.distributed name it
    replace(
        c10d,
        _NCCL_AVAILABLE=True,
        default_pg_nccl_timeout=timedelta(minutes=10),
        _new_process_group_helper=with_cpu_route(c10d._new_process_group_helper),
        _get_split_source=lambda *_: None,  # Gloo cannot split a communicator
        _get_object_coll_device=for_objects(c10d._get_object_coll_device),
    )
    replace(device_mesh, split_group=split_group)
    for home in (c10d, dist):
        replace(home, batch_isend_irecv=in_a_batch(c10d.batch_isend_irecv))
    Devices.collective = staticmethod(collective)
