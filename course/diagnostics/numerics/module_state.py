"""Describe a model when it is called: the names and checksums of its weights, its modes, dtype."""

import sys
import zlib
from collections.abc import Iterable

import torch
from torch import nn

from course.diagnostics.numerics import tensor_samples

PREFIXES = ("module.", "_orig_mod.")  # of DDP, and of torch.compile


def is_split(module: nn.Module) -> bool:
    """Whether the ranks split the model's tensors, other than by `fully_shard` on one axis."""
    meshes = [getattr(parameter, "device_mesh", None) for parameter in module.parameters()]
    dimensions = [mesh.ndim for mesh in meshes if mesh is not None]
    if not dimensions:
        return False
    fsdp = sys.modules.get("torch.distributed.fsdp")
    sharded = fsdp and any(isinstance(submodule, fsdp.FSDPModule) for submodule in module.modules())
    return not sharded or max(dimensions) > 1


def is_sharded(module: nn.Module) -> bool:
    """Whether this rank has only a shard of the model."""
    parts = any(hasattr(parameter, "device_mesh") for parameter in module.parameters())
    return parts or any(type(m).__name__ == "FullyShardedDataParallel" for m in module.modules())


def tracks_statistics(module: nn.Module) -> bool:
    """Whether calls in training mode update statistics, such as those of batch norm."""
    return any(getattr(submodule, "track_running_stats", False) for submodule in module.modules())


def named(module: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """The module's parameters with their names, without the prefixes of wrappers."""
    return [(bare_name(name), parameter) for name, parameter in module.named_parameters()]


def bare_name(name: str) -> str:
    """A parameter's name without the prefixes of wrappers."""
    while name.startswith(PREFIXES):
        name = name.partition(".")[2]
    return name


def checksums(named: list[tuple[str, nn.Parameter]]) -> list[int]:
    """A checksum of each of these weights."""
    share = tensor_samples.share(len(named))
    views = [tensor_samples.values(parameter, share) for _, parameter in named]
    flat = tensor_samples.concatenate(views).cpu().numpy()
    return tensor_samples.checksums(flat, [view.numel() for view in views])


def modes(module: nn.Module, inside: Iterable[nn.Module]) -> str:
    """Whether its modules are in training or evaluation mode, as text that ranks can compare."""
    flags = bytes([module.training, *[submodule.training for submodule in inside]])
    if len(set(flags)) == 1:
        return "training" if flags[0] else "evaluation"
    return f"{sum(flags)} of {len(flags)} modules in training ({zlib.crc32(flags):x})"


def precision(module: nn.Module) -> str:
    """The dtype of its first parameter, and the dtype that autocast would use if it is on."""
    first = next(module.parameters(), None)
    kind = "" if first is None else str(first.dtype).removeprefix("torch.")
    device = "cpu" if first is None else first.device.type
    if torch.is_autocast_enabled(device):
        kind += f", autocast to {str(torch.get_autocast_dtype(device)).removeprefix('torch.')}"
    return kind
