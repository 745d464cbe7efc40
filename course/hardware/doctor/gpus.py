"""The checks of `doctor` on GPUs, their driver, torch's use of them, and what carries messages between ranks."""

from course import hardware
from course.hardware import gpus
from course.hardware.box import GIB, Box, gib
from course.hardware.doctor.facts import Vitals
from course.hardware.doctor.machine import BROKEN, NOTE, OK, PACKAGES, Finding

CUDA_FIXES = {  # what stands in torch's error -> what to do; the last fits every error
    "no kernel image": "this build has no code for it; choose one at pytorch.org that has",
    "not yet initialized": "GPUs on an NVSwitch need `sudo systemctl start nvidia-fabricmanager`",
    "out of memory": "another program fills it; `nvidia-smi` shows which",
    "": "`nvidia-smi` should say more, or restart the machine",
}


def _idle(box: Box) -> str:
    """The level of a fault that keeps torch from the GPUs: the labs would only use two or more."""
    return BROKEN if box.nvidia.installed > 1 else NOTE


def _install_torch(box: Box) -> str:
    """The command that installs a torch that this driver runs."""
    build = "cu130" if (box.nvidia.driver_cuda or (0, 0)) >= (13, 0) else "cu126"
    return (
        f'`python -m pip install --force-reinstall "torch>={PACKAGES["torch"]}" '
        f"--index-url https://download.pytorch.org/whl/{build}`"
    )


def driver(vitals: Vitals) -> Finding:
    """An NVIDIA driver that runs torch's CUDA."""
    box, nvidia = vitals.box, vitals.box.nvidia
    if nvidia.failure:
        return Finding(_idle(box), f"{nvidia.failure} Until then the labs run on the CPU.")
    if not nvidia.installed:
        return Finding(OK, "no NVIDIA GPU: the labs run on the CPU with Gloo")
    newest = "CUDA up to {}.{}".format(*nvidia.driver_cuda) if nvidia.driver_cuda else "CUDA"
    if box.torch_version and box.torch_cuda is None:
        lead = f"torch {box.torch_version} is built for the CPU only and cannot use the GPU here"
        return Finding(_idle(box), f"{lead}: {_install_torch(box)} installs one that can.")
    if box.driver_too_old:
        lead = f"NVIDIA driver {nvidia.driver} runs {newest} and torch is built for CUDA {box.torch_cuda}"
        newer = "update the driver to 580 or later"
        instead = f", or {_install_torch(box)}" if nvidia.driver_cuda >= (12, 0) else ""
        return Finding(_idle(box), f"{lead}: {newer}{instead}.")
    return Finding(OK, f"NVIDIA driver {nvidia.driver} runs {newest}")


def visible(vitals: Vitals) -> Finding | None:
    """A CUDA_VISIBLE_DEVICES that means what it says."""
    nvidia, value = vitals.box.nvidia, vitals.environ.get(gpus.VARIABLE)
    if nvidia.hidden:
        return Finding(_idle(vitals.box), nvidia.hidden)
    if value is None or not nvidia.installed:
        return None
    return Finding(
        OK, f"{gpus.VARIABLE}={value} shows {len(nvidia.gpus)} of {nvidia.installed} GPUs"
    )


def alike(vitals: Vitals) -> Finding | None:
    """GPUs of one kind, and how they are connected."""
    box = vitals.box
    names = sorted({gpu.name for gpu in box.gpus})
    if len(names) > 1:
        order = "`export CUDA_DEVICE_ORDER=PCI_BUS_ID` numbers them as nvidia-smi does"
        return Finding(
            NOTE,
            f"The GPUs differ ({', '.join(names)}), so each step waits for the slowest; {order}.",
        )
    if not box.gpus:
        return None
    return Finding(
        OK, f"{len(box.gpus)} × {names[0]}" + (f", {hardware.links(box)}" if box.links else "")
    )


def room(vitals: Vitals) -> Finding | None:
    """Free memory on each GPU."""
    told = [gpu for gpu in vitals.box.gpus if gpu.free is not None]
    full = [
        f"GPU {gpu.index} ({gib(gpu.free)} of {gib(gpu.memory)})"
        for gpu in told
        if gpu.free < 4 * GIB
    ]
    if full:
        choose = f"`nvidia-smi` shows whose programs fill it, {gpus.VARIABLE} chooses other GPUs"
        return Finding(NOTE, f"Little memory is free on {', '.join(full)}: {choose}.")
    return (
        Finding(OK, f"at least {gib(min(gpu.free for gpu in told))} free on each GPU")
        if told
        else None
    )


def cuda(vitals: Vitals) -> Finding | None:
    """A torch that sees the GPUs and computes on the first."""
    box, says = vitals.box, vitals.torch
    if not box.usable_gpus or says.import_error:
        return None
    if says.gpu_error:
        fix = next(fix for words, fix in CUDA_FIXES.items() if words in says.gpu_error)
        return Finding(_idle(box), f"torch cannot compute on the GPU ({says.gpu_error}): {fix}.")
    if says.gpus != box.usable_gpus:
        asked = "`nvidia-smi` should say which one CUDA leaves out"
        return Finding(
            _idle(box),
            f"The driver shows {box.usable_gpus} GPUs and torch sees {says.gpus}: {asked}.",
        )
    return Finding(OK, f"torch computes on the GPU and sees {says.gpus}")


def backend(vitals: Vitals) -> Finding | None:
    """The libraries that carry the ranks' messages."""
    box, says = vitals.box, vitals.torch
    missing = None
    if says.import_error:
        return None
    if not says.gloo:
        missing = "Gloo, which ranks on the CPU talk over"
    elif box.device == "cuda" and says.nccl is None:
        missing = "NCCL, which ranks on GPUs talk over"
    if missing:
        return Finding(
            BROKEN, f"This torch is built without {missing}: install a build from pytorch.org."
        )
    return Finding(OK, f"NCCL {says.nccl} and Gloo" if says.nccl else "Gloo")


GPUS = (driver, visible, alike, room, cuda, backend)
