"""The checks of the doctor on GPUs, their driver, and what carries messages between ranks."""

from course.core import words
from course.hardware import gpus
from course.hardware.doctor.facts import Facts
from course.hardware.doctor.requirements import PACKAGES
from course.hardware.doctor.results import BROKEN, NOTE, CheckResult, broken, note, ok
from course.hardware.machine import Machine

TF32 = "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"  # set in some of NVIDIA's containers
CUDA_FIXES = {  # what stands in torch's error -> what to do; the last fits every error
    "no kernel image": "this build has no code for it; choose one at pytorch.org that has",
    "not yet initialized": "GPUs on an NVSwitch need `sudo systemctl start nvidia-fabricmanager`",
    "out of memory": "another program fills it; `nvidia-smi` shows which",
    "busy or unavailable": "another program has it for itself; `nvidia-smi` shows which",
    "invalid device ordinal": "CUDA does not show it; `nvidia-smi -L` says whether MIG is on",
    "CUBLAS": "another CUDA may be in the way; `unset LD_LIBRARY_PATH` leaves torch its own",
    "": "`nvidia-smi` should say more, or restart the machine",
}


def driver(facts: Facts) -> CheckResult:
    """Check that the NVIDIA driver runs torch's CUDA."""
    machine, nvidia = facts.machine, facts.machine.nvidia
    if machine.rocm:
        lead = f"torch {machine.torch_version} is built for AMD's GPUs, which the labs do not use"
        hide = "`export CUDA_VISIBLE_DEVICES= HIP_VISIBLE_DEVICES=` keeps their scripts on the CPU"
        return note(f"{lead}: {hide}, with Gloo.")
    if nvidia.failure:
        return _idle(machine, f"{nvidia.failure} Until then the labs run on the CPU.")
    if not nvidia.installed:
        return ok("no NVIDIA GPU: the labs run on the CPU with Gloo")
    if machine.torch_version and machine.torch_cuda is None:
        lead = (
            f"torch {machine.torch_version} is built for the CPU only and cannot use the GPU here"
        )
        return _idle(machine, f"{lead}: {_install_torch(machine)} installs one that can.")
    runs = f"NVIDIA driver {nvidia.driver} runs {nvidia.driver_cuda_text}"
    if machine.driver_too_old:
        fix = "update the driver to 580 or later"
        if nvidia.driver_cuda and nvidia.driver_cuda >= (12, 0):
            fix += f", or {_install_torch(machine)}"
        return _idle(machine, f"{runs} and torch is built for CUDA {machine.torch_cuda}: {fix}.")
    return ok(runs)


def visible(facts: Facts) -> CheckResult | None:
    """Check that CUDA_VISIBLE_DEVICES means what it says."""
    nvidia, value = facts.machine.nvidia, facts.environ.get(gpus.VARIABLE)
    if nvidia.hidden:
        return _idle(facts.machine, nvidia.hidden)
    if value is None or not nvidia.installed:
        return None
    return ok(f"{gpus.VARIABLE}={value} shows {len(nvidia.gpus)} of {nvidia.installed} GPUs")


def divided(facts: Facts) -> CheckResult | None:
    """Check for GPUs that MIG divides and the labs cannot use."""
    nvidia = facts.machine.nvidia
    return _idle(facts.machine, nvidia.divided) if nvidia.divided else None


def alike(facts: Facts) -> CheckResult | None:
    """Check that the GPUs are of one kind, and tell how they are connected."""
    machine = facts.machine
    names = sorted({gpu.name for gpu in machine.gpus})
    if not names:
        return None
    if len(names) > 1:
        lead = f"The GPUs differ ({', '.join(names)}), so each step waits for the slowest"
        return note(
            f"{lead}; `export CUDA_DEVICE_ORDER=PCI_BUS_ID` numbers them as nvidia-smi does."
        )
    links = f", {gpus.links_in_words(machine.links)}" if machine.links else ""
    return ok(f"{len(machine.gpus)} × {names[0]}{links}")


def shared(facts: Facts) -> CheckResult | None:
    """Check that several GPUs each let several processes in."""
    exclusive = [gpu.index for gpu in facts.machine.gpus if gpu.exclusive]
    if not exclusive or len(facts.machine.gpus) < 2:
        return None
    lead = f"One process at a time may use {_numbered(exclusive)} (mode EXCLUSIVE_PROCESS)"
    races = 'the races of labs 01 and 07, where one process uses all GPUs, fail as "busy"'
    return note(f"{lead}, so {races}: an administrator's `nvidia-smi -c DEFAULT` lets more in.")


def precision(facts: Facts) -> CheckResult | None:
    """Check that no setting of an image rounds float32 products to TF32."""
    if not facts.machine.gpus or facts.environ.get(TF32) != "1":
        return None
    return note(
        f"{TF32}=1 rounds float32 products to TF32, so weights that labs compare may differ: "
        f"`unset {TF32}` before starting JupyterLab."
    )


def room(facts: Facts) -> CheckResult | None:
    """Check the free memory of each GPU."""
    free = [gpu.free for gpu in facts.machine.gpus if gpu.free is not None]
    if not free:
        return None
    full = [
        f"GPU {gpu.index} ({words.gib(gpu.free)} of {words.gib(gpu.memory)})"
        for gpu in facts.machine.gpus
        if gpu.memory is not None and gpu.free is not None and gpu.free < 4 * words.GIB
    ]
    if full:
        choose = f"`nvidia-smi` shows whose programs fill it, {gpus.VARIABLE} chooses other GPUs"
        return note(f"Little memory is free on {', '.join(full)}: {choose}.")
    return ok(f"at least {words.gib(min(free))} free on each GPU")


def cuda(facts: Facts) -> CheckResult | None:
    """Check that torch computes on every GPU that the driver shows."""
    machine, torch = facts.machine, facts.torch
    if not machine.usable_gpus or torch.import_error:
        return None
    if torch.faults:
        return _idle(machine, _cannot_compute(facts))
    if torch.gpus != machine.usable_gpus:
        lead = f"The driver shows {words.plural(machine.usable_gpus, 'GPU')} and CUDA {torch.gpus}"
        return _idle(machine, f"{lead}: `nvidia-smi` should say which one CUDA leaves out.")
    return ok(
        "torch computes on " + ("the GPU" if torch.gpus == 1 else f"each of {torch.gpus} GPUs")
    )


def backend(facts: Facts) -> CheckResult | None:
    """Check the libraries that carry the ranks' messages."""
    torch, missing = facts.torch, None
    if torch.import_error:
        return None
    if not torch.gloo:
        missing = "Gloo, which ranks on the CPU talk over"
    elif facts.machine.device == "cuda" and torch.nccl is None:
        missing = "NCCL, which ranks on GPUs talk over"
    if missing:
        fix = "install a build from pytorch.org"
        return broken(f"This torch is built without {missing}: {fix}.")
    return ok(f"NCCL {torch.nccl} and Gloo" if torch.nccl else "Gloo")


GPUS = (driver, visible, divided, alike, shared, precision, room, cuda, backend)


def _idle(machine: Machine, text: str) -> CheckResult:
    """Why torch cannot use the GPUs; this breaks the labs only if they would use several."""
    return CheckResult(BROKEN if machine.nvidia.installed > 1 else NOTE, text)


def _cannot_compute(facts: Facts) -> str:
    """On which GPUs torch cannot compute, why, and what to do; equal reasons are said once."""
    faults, count = facts.torch.faults, facts.torch.gpus
    sick = {reason: [gpu for gpu in faults if faults[gpu] == reason] for reason in faults.values()}
    reasons = " and ".join(f"{_numbered(numbers)} ({reason})" for reason, numbers in sick.items())
    fix = next(fix for phrase, fix in CUDA_FIXES.items() if phrase in next(iter(sick)))
    if len(faults) < count:
        entries = (facts.environ.get(gpus.VARIABLE) or ",".join(map(str, range(count)))).split(",")
        sound = ",".join(entries[gpu] for gpu in range(count) if gpu not in faults)
        fix += f"; until then, `export {gpus.VARIABLE}={sound}` does without"
    return f"torch cannot compute on {reasons}: {fix}."


def _numbered(numbers: list[int]) -> str:
    """GPUs by their numbers: 'GPU 3', 'GPUs 0, 2'."""
    noun = "GPU" if len(numbers) == 1 else "GPUs"
    return f"{noun} {', '.join(map(str, numbers))}"


def _install_torch(machine: Machine) -> str:
    """The command that installs a torch that this driver runs."""
    build = "cu130" if (machine.nvidia.driver_cuda or (0, 0)) >= (13, 0) else "cu126"
    return (
        f'`python -m pip install --force-reinstall "torch>={PACKAGES["torch"]}" '
        f"--index-url https://download.pytorch.org/whl/{build}`"
    )
