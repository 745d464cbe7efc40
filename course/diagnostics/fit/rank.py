"""On a rank: make this process rank 0 of N, whose messages go nowhere."""

import os
import sys
from functools import wraps
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.optim  # it compiles torch.tensor, so before that is replaced
from torch.distributed import checkpoint, device_mesh
from torch.distributed import distributed_c10d as c10d
from torch.optim import optimizer, swa_utils
from torch.utils.data import DataLoader

from course.core import insides, interceptor
from course.diagnostics.fit import moves, reducer
from course.diagnostics.fit.ledger import Ledger
from course.diagnostics.fit.reducer import do_nothing
from course.diagnostics.fit.torch_insides import (
    LIST_TYPES,
    FakeStore,
    FakeTensor,
    list_devices,
    unset_fake_temporarily,
)
from course.pretended import pretend_torch_cuda


def install(ranks: int, ledger: Ledger) -> None:
    """From now on, make this process rank 0 of `ranks`, each with a GPU to itself.

    The ledger records which tensors are on the GPU.
    """
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks),
                      GROUP_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500",
                      WANDB_MODE="disabled")  # fmt: skip
    _install_group(ranks)
    _install_object_collectives()
    reducer.install()
    pretend_torch_cuda(ranks)
    _install_autocast()
    _install_loader()
    moves.install(ledger)
    _install_lists(ledger)
    insides.replace(torch, "save", _only_storages(torch.save))
    insides.replace(checkpoint, "save", do_nothing)
    insides.replace(torch.multiprocessing, "spawn", _spawn)
    insides.replace(torch.Tensor, "pin_memory", _pin_memory)


def _only_storages(save: interceptor.Function) -> interceptor.Function:
    """Let `torch.save` overwrite none of the user's files; `pickle` saves storages in memory."""

    @wraps(save)
    def save_storage(obj: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(obj, (torch.UntypedStorage, torch.TypedStorage)):
            save(obj, *args, **kwargs)

    return save_storage


def _spawn(
    call: interceptor.Function, args: tuple[Any, ...] = (), *more: Any, **options: Any
) -> Any:
    return call(0, *args)


def _pin_memory(tensor: torch.Tensor, *args: Any) -> torch.Tensor:
    return tensor


def _install_group(ranks: int) -> None:
    real_init, real_new_group = c10d.init_process_group, c10d.new_group

    @wraps(real_init)
    def init_process_group(*args: Any, **kwargs: Any) -> None:
        real_init("fake", rank=0, world_size=ranks, store=FakeStore())

    @wraps(real_new_group)
    def new_group(ranks: Any = None, *args: Any, **kwargs: Any) -> Any:
        return real_new_group(ranks)

    _replace("init_process_group", init_process_group)
    _replace("new_group", new_group)
    _replace("all_reduce", _with_result(c10d.all_reduce))
    _replace("barrier", do_nothing)
    _replace("monitored_barrier", do_nothing)
    mesh = device_mesh.DeviceMesh
    insides.replace(mesh, "__init__", _mesh_init_on_cpu(mesh.__init__))
    init = device_mesh.init_device_mesh
    for module in list(sys.modules.values()):  # FSDP's, too, have imported the function by name
        if getattr(module, "__dict__", {}).get("init_device_mesh") is init:
            insides.replace(module, "init_device_mesh", _init_device_mesh_on_cpu(init))


def _init_device_mesh_on_cpu(init: interceptor.Function) -> interceptor.Function:
    """Wrap the function that makes a mesh, and that first makes a process group if need be."""

    @wraps(init)
    def init_device_mesh(device_type: str, *args: Any, **kwargs: Any) -> Any:
        if not dist.is_initialized():
            dist.init_process_group()
        with unset_fake_temporarily():
            return init("cpu", *args, **kwargs)

    return init_device_mesh


def _mesh_init_on_cpu(init: interceptor.Function) -> interceptor.Function:
    """Wrap the method `__init__` of a mesh."""

    @wraps(init)
    def init_on_cpu(self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
        with unset_fake_temporarily():
            init(self, "cpu", *args, **kwargs)

    return init_on_cpu


class _FinishedWork:
    """The handle of a collective that is already done, with its result."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        future: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
        future.set_result([self._tensor])
        return future


def _with_result(real: interceptor.Function) -> interceptor.Function:
    """Give an in-place collective a future with its tensor, which the fake group does not."""

    @wraps(real)
    def call(tensor: torch.Tensor, *args: Any, async_op: bool = False, **kwargs: Any) -> Any:
        real(tensor, *args, **kwargs)
        return _FinishedWork(tensor) if async_op else None

    return call


def _install_object_collectives() -> None:
    """Replace the collectives for objects: those of other ranks are assumed to equal ours."""

    def all_gather_object(objects: list[Any], mine: Any, group: Any = None) -> None:
        objects[:] = [mine] * len(objects)

    def gather_object(
        mine: Any, objects: list[Any] | None = None, *args: Any, **kwargs: Any
    ) -> None:
        if objects is not None:
            objects[:] = [mine] * len(objects)

    def scatter_object_list(
        output: list[Any], objects: list[Any], *args: Any, **kwargs: Any
    ) -> None:
        output[:1] = objects[:1]

    _replace("all_gather_object", all_gather_object)
    _replace("gather_object", gather_object)
    _replace("scatter_object_list", scatter_object_list)
    _replace("broadcast_object_list", do_nothing)


def _install_autocast() -> None:
    autocast = torch.amp.autocast_mode.autocast
    init = autocast.__init__

    @wraps(init)
    def on_cpu(self: Any, device_type: str, dtype: Any = None, *args: Any, **kwargs: Any) -> None:
        if device_type == "cuda":
            device_type, dtype = "cpu", dtype or torch.float16
        init(self, device_type, dtype, *args, **kwargs)

    insides.replace(autocast, "__init__", on_cpu)


def _install_lists(ledger: Ledger) -> None:
    """Let optimizers work on lists of tensors by default (`foreach`), as torch does on a GPU.

    For a moment, this holds more than a loop over the tensors, which is the default on a CPU.
    """
    for types in LIST_TYPES:
        types.append(FakeTensor)

    def devices() -> list[str]:
        return [*list_devices(), *(["cpu"] if ledger.record.uses_gpu else [])]

    for home in (optimizer, swa_utils):
        insides.replace(home, "_get_foreach_kernels_supported_devices", devices)


def _install_loader() -> None:
    """Let loaders read in this process, because a worker would lack what is replaced here."""
    init: interceptor.Function = DataLoader.__init__

    @wraps(init)
    def init_without_workers(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in ("persistent_workers", "prefetch_factor", "timeout", "pin_memory"):
            kwargs.pop(name, None)
        if len(args) > 5:
            args = (*args[:5], 0, *args[6:])
        else:
            kwargs["num_workers"] = 0
        init(self, *args, **kwargs)

    insides.replace(DataLoader, "__init__", init_without_workers)


def _replace(name: str, new: Any) -> None:
    for home in (c10d, dist):
        insides.replace(home, name, new)
