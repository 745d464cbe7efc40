"""The NVIDIA GPUs that CUDA would show a process here, read through NVML without a CUDA context.

`nvml` is the module `pynvml` (package nvidia-ml-py) or a stand-in with the same functions.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from course.core import words
from course.hardware import mig

VARIABLE = "CUDA_VISIBLE_DEVICES"
NO_LIBRARY, NOT_LOADED, MISMATCH = 12, 9, 18  # NVML_ERROR_* in nvml.h
# nvmlGpuTopologyLevel_t in nvml.h
LEVELS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
P2P_NVLINK = 2  # nvmlGpuP2PCapsIndex_t
P2P_OK = 0  # nvmlGpuP2PStatus_t
EXCLUSIVE_PROCESS = 3  # nvmlComputeMode_t
TO_SWITCH = 2  # nvmlIntNvLinkDeviceType_t
NO_PACKAGE = (
    "The package nvidia-ml-py, which finds the GPUs, is missing: "
    "`python -m pip install nvidia-ml-py`."
)
KINDS = {
    "NV": "NVLink",
    "PIX": "the same PCIe switch",
    "PXB": "several PCIe switches",
    "PHB": "the CPU's PCIe host bridge",
    "NODE": "PCIe host bridges of one NUMA node",
    "SYS": "PCIe and the link between CPU sockets",
    "?": "a link that the driver does not tell",
}


@dataclass(frozen=True)
class Gpu:
    """One GPU, as CUDA numbers it (`index`) and as nvidia-smi does (`nvml_index`).

    Memory is in bytes, None if the driver does not report it. `exclusive` says that the GPU takes
    only one process at a time (compute mode EXCLUSIVE_PROCESS).
    """

    index: int
    nvml_index: int
    name: str
    memory: int | None
    free: int | None
    exclusive: bool = False


@dataclass(frozen=True)
class Link:
    """The link between GPUs `first` < `second` (CUDA's numbers).

    `kind` is as in ``nvidia-smi topo -m``: NV18, PIX, SYS.
    """

    first: int
    second: int
    kind: str

    @property
    def words(self) -> str:
        """The kind in words, such as 'NVLink' or 'the same PCIe switch'."""
        return KINDS["NV" if self.kind.startswith("NV") else self.kind]


@dataclass(frozen=True)
class Gpus:
    """What NVML reports: the visible GPUs, the links between them, the driver, and any faults.

    `driver_cuda` is the newest CUDA version that the driver runs. `installed` counts the GPUs
    before any of them is hidden. The faults are sentences: `failure` on why NVML does not answer,
    `hidden` on a wrong CUDA_VISIBLE_DEVICES, and `divided` on what MIG keeps from the labs.
    """

    gpus: tuple[Gpu, ...] = ()
    links: tuple[Link, ...] = ()
    driver: str | None = None
    driver_cuda: tuple[int, int] | None = None
    installed: int = 0
    failure: str | None = None
    hidden: str | None = None
    divided: str | None = None

    @property
    def driver_cuda_text(self) -> str:
        """The CUDA versions that the driver runs, such as 'CUDA up to 13.0'."""
        if self.driver_cuda is None:
            return "CUDA"
        major, minor = self.driver_cuda
        return f"CUDA up to {major}.{minor}"


def here(environ: Mapping[str, str], on_bus: int, nvml: Any = None) -> Gpus:
    """Ask NVML about the GPUs; if the PCI bus shows any (`on_bus`), no answer is a failure."""
    if nvml is None:
        try:
            import pynvml as nvml
        except ImportError:
            return Gpus(failure=NO_PACKAGE if on_bus else None)
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return Gpus(installed=on_bus, failure=_failure(error, on_bus))
    try:
        return _read(nvml, environ.get(VARIABLE))
    except nvml.NVMLError as error:
        return Gpus(installed=on_bus, failure=_failure(error, on_bus))
    finally:
        nvml.nvmlShutdown()


def _failure(error: Any, on_bus: int) -> str | None:
    """Why NVML does not answer and what to do; None if there is nothing to answer for."""
    if error.value == NO_LIBRARY and not on_bus:
        return None
    reasons = {
        NO_LIBRARY: f"This machine has {words.plural(on_bus, 'NVIDIA GPU')} but no driver: "
        "install the NVIDIA driver, or start the container with `--gpus all`.",
        NOT_LOADED: "The NVIDIA driver is installed but not loaded: "
        "`sudo modprobe nvidia`, or restart the machine.",
        MISMATCH: "The NVIDIA driver was updated while the old one is still loaded: "
        "restart the machine.",
    }
    unknown = f"The NVIDIA driver does not answer ({error}): `nvidia-smi` should say more."
    return reasons.get(error.value, unknown)


def _read(nvml: Any, variable: str | None) -> Gpus:
    count = nvml.nvmlDeviceGetCount()
    handles = [nvml.nvmlDeviceGetHandleByIndex(number) for number in range(count)]
    ask, divided = _asker(nvml), None
    if variable and variable.strip().startswith("MIG-"):
        shown, hidden = mig.named_instance(variable, ask, nvml)
    else:
        uuids = [ask(nvml.nvmlDeviceGetUUID, handle) or "" for handle in handles]
        numbers, hidden = visible(variable, uuids)
        shown, divided = mig.usable_gpus(
            [(number, handles[number]) for number in numbers], ask, nvml
        )
    cuda = ask(nvml.nvmlSystemGetCudaDriverVersion_v2)
    gpus = [_gpu(index, *numbered, ask, nvml) for index, numbered in enumerate(shown)]
    return Gpus(
        gpus=tuple(gpus),
        links=_links([handle for _, handle in shown], ask, nvml),
        driver=ask(nvml.nvmlSystemGetDriverVersion),
        driver_cuda=(cuda // 1000, cuda % 1000 // 10) if cuda else None,
        installed=len(handles),
        hidden=hidden,
        divided=divided,
    )


def _asker(nvml: Any) -> Callable[..., Any]:
    """A function that calls NVML, and returns None if this GPU or driver does not support it."""

    def ask(function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except nvml.NVMLError:
            return None

    return ask


def _gpu(index: int, number: int, handle: Any, ask: Callable[..., Any], nvml: Any) -> Gpu:
    memory = ask(nvml.nvmlDeviceGetMemoryInfo, handle)  # none if GPU and CPU share it
    total, free = (memory.total, memory.free) if memory else (None, None)
    name = ask(nvml.nvmlDeviceGetName, handle) or "NVIDIA GPU"
    exclusive = ask(nvml.nvmlDeviceGetComputeMode, handle) == EXCLUSIVE_PROCESS
    return Gpu(index, number, name, total, free, exclusive)


def visible(variable: str | None, uuids: list[str]) -> tuple[list[int], str | None]:
    """The GPUs that CUDA shows for this CUDA_VISIBLE_DEVICES, in its order, and any fault of it.

    CUDA stops at the first entry that names no GPU (-1 on purpose) and shows none at all if one is
    named twice (CUDA programming guide, "CUDA Environment Variables").
    """
    if variable is None:
        return list(range(len(uuids))), None
    chosen: list[int] = []
    for entry in map(str.strip, variable.split(",")):
        number = _number_of(entry, uuids)
        if number is None:
            wrong = entry not in ("", "-1")
            return chosen, _ignored(variable, entry, len(uuids)) if wrong else None
        if number in chosen:
            twice = f"{VARIABLE}={variable} names GPU {number} twice, so CUDA shows none"
            return [], f"{twice}: name each GPU once."
        chosen.append(number)
    return chosen, None


def _number_of(entry: str, uuids: list[str]) -> int | None:
    """The GPU that an entry names, by its number or by the start of its UUID."""
    if digits := re.match(r"\d+", entry):
        number = int(digits[0])  # CUDA ignores what follows the digits
        return number if number < len(uuids) else None
    if not entry.startswith("GPU-"):
        return None
    numbers = [number for number, uuid in enumerate(uuids) if uuid.startswith(entry)]
    return numbers[0] if len(numbers) == 1 else None


def _ignored(variable: str, entry: str, count: int) -> str:
    has = {0: "has none", 1: "has only GPU 0"}.get(count, f"has GPUs 0 to {count - 1}")
    return (
        f"{VARIABLE}={variable}: this machine {has}, so CUDA ignores '{entry}' "
        f"and all entries after it: correct the list, or `unset {VARIABLE}`."
    )


def _links(handles: list[Any], ask: Callable[..., Any], nvml: Any) -> tuple[Link, ...]:
    if len(handles) < 2:
        return ()
    ends = [_nvlink_ends(handle, ask, nvml) for handle in handles]
    places = [_place(ask(nvml.nvmlDeviceGetPciInfo, handle)) for handle in handles]
    links = []
    for a, b in combinations(range(len(handles)), 2):
        direct = ends[a].count(places[b]) if places[b] else 0
        nvlinks = direct or min(ends[a].count("switch"), ends[b].count("switch"))
        links.append(Link(a, b, _kind(nvlinks, handles[a], handles[b], ask, nvml)))
    return tuple(links)


def _kind(nvlinks: int, gpu: Any, peer: Any, ask: Callable[..., Any], nvml: Any) -> str:
    """The kind of link between two GPUs; `nvlinks` is how many NVLinks are known between them."""
    if nvlinks:
        return f"NV{nvlinks}"
    if ask(nvml.nvmlDeviceGetP2PStatus, gpu, peer, P2P_NVLINK) == P2P_OK:
        return "NV"
    return LEVELS.get(ask(nvml.nvmlDeviceGetTopologyCommonAncestor, gpu, peer), "?")


def _nvlink_ends(
    handle: Any, ask: Callable[..., Any], nvml: Any
) -> list[str | tuple[int, int, int] | None]:
    """The far end of each active NVLink of a GPU: 'switch', or a GPU's place on the PCI bus."""
    ends: list[str | tuple[int, int, int] | None] = []
    for nvlink in range(nvml.NVML_NVLINK_MAX_LINKS):
        if not ask(nvml.nvmlDeviceGetNvLinkState, handle, nvlink):
            continue
        if ask(nvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, nvlink) == TO_SWITCH:
            ends.append("switch")
        else:
            ends.append(_place(ask(nvml.nvmlDeviceGetNvLinkRemotePciInfo, handle, nvlink)))
    return ends


def _place(info: Any) -> tuple[int, int, int] | None:
    return (info.domain, info.bus, info.device) if info else None


def links_in_words(links: tuple[Link, ...]) -> str:
    """A phrase on how the GPUs are connected; if it differs, with the pairs of each kind."""
    kinds = Counter(f"{link.words} ({link.kind})" for link in links)
    if len(kinds) == 1:
        pairs = "each pair" if len(links) > 1 else "the pair"
        return f"{pairs} connected by {next(iter(kinds))}"
    return ", ".join(
        f"{count} of {len(links)} pairs by {kind}" for kind, count in kinds.most_common()
    )
