"""MIG: GPUs that are divided into instances, and which of them the labs use.

NVIDIA's MIG User Guide, "CUDA Device Enumeration" (read on 2026-11-25): with a driver older than
570 CUDA shows a process one instance only, the first if several are visible, and no whole GPU.
Later drivers show an instance of every part of a GPU, and whole GPUs as well. But NCCL takes
several instances only since 2.31, as an experiment (its user guide, "Using MIG instances"), and
torch 2.15 comes with 2.30. So with every driver the labs use one instance.
"""

from collections.abc import Callable
from typing import Any

ENABLED = 1  # NVML_DEVICE_MIG_ENABLE in nvml.h
Numbered = tuple[int, Any]  # a GPU's number and its handle; an instance has the number of its GPU


def named_instance(
    variable: str, ask: Callable[..., Any], nvml: Any
) -> tuple[list[Numbered], str | None]:
    """The instance that CUDA_VISIBLE_DEVICES names, and a sentence if the variable is wrong."""
    first, *rest = variable.strip().split(",")
    handle = ask(nvml.nvmlDeviceGetHandleByUUID, first)
    if handle is None:
        wrong = f"CUDA_VISIBLE_DEVICES: {first} names no MIG instance of this machine"
        return [], f"{wrong}; `nvidia-smi -L` lists them."
    if not rest:
        return [(0, handle)], None
    count = f"CUDA_VISIBLE_DEVICES names {len(rest) + 1} MIG instances"
    return [(0, handle)], f"{count}, and the labs can use only one: name only that."


def usable_gpus(
    gpus: list[Numbered], ask: Callable[..., Any], nvml: Any
) -> tuple[list[Numbered], str | None]:
    """The GPUs or instances that the labs use, and a sentence on what MIG keeps from them."""
    modes = [ask(nvml.nvmlDeviceGetMigMode, handle) for _, handle in gpus]  # (now, after a reset)
    divided = [gpu for gpu, mode in zip(gpus, modes, strict=True) if mode and mode[0] == ENABLED]
    if not divided:
        return gpus, None
    instances = [
        (number, instance)
        for number, handle in divided
        for instance in _instances(handle, ask, nvml)
    ]
    off = "if the machine is yours, `sudo nvidia-smi -mig 0` turns it off"
    numbers = {number for number, _ in divided}
    whole = [gpu for gpu in gpus if gpu[0] not in numbers]
    if not instances:
        return whole, f"MIG is on and there is no instance to compute on: {off}."
    if len(instances) == len(gpus) == 1:
        return instances, None
    lead = "MIG is on, and the labs can use only one of the instances"
    name = "`export CUDA_VISIBLE_DEVICES=MIG-...` chooses it (`nvidia-smi -L` lists them)"
    if whole:
        listed = ",".join(str(number) for number, _ in whole)
        name += f", `export CUDA_VISIBLE_DEVICES={listed}` the GPUs that are whole"
    # Before CUDA starts, torch counts the cards, and a script would give each of them a rank.
    terminal = "do so before you start scripts from a terminal"
    return instances[:1], f"{lead}: {name}, and {terminal}; {off}."


def _instances(handle: Any, ask: Callable[..., Any], nvml: Any) -> list[Any]:
    """The handles of a GPU's instances; some of NVML's numbers may have no instance."""
    most = ask(nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
    handles = (
        ask(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index) for index in range(most)
    )
    return [instance for instance in handles if instance is not None]
