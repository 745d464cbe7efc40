"""Make `torch.cuda` and `torch.accelerator` answer as with GPUs, as far as scripts need them."""

from types import SimpleNamespace
from typing import Any

import torch
from torch.cuda._utils import _get_device_index

from course.core import words
from course.pretended.tensors import gpus, replace

PROPERTIES = SimpleNamespace(name="Pretended GPU", major=9, minor=0, total_memory=80 * words.GIB)


def index_of(device: Any = None) -> int:
    """The index of a device, or of the current one without an index; CUDA counts as initialized."""
    return gpus.use("cuda" if device is None else device).index


def set_device(device: Any) -> None:
    """Stand in for `torch.cuda.set_device`."""
    index = _get_device_index(device)
    if index >= 0:
        gpus.current = index


class DeviceContext:
    """Stands in for `torch.cuda.device`."""

    def __init__(self, device: Any) -> None:
        self.idx = _get_device_index(device, optional=True)

    def __enter__(self) -> None:
        self.before = gpus.current
        set_device(self.idx)

    def __exit__(self, *_: Any) -> None:
        gpus.current = self.before


class Event:
    """Stands in for `torch.cuda.Event`; the event has always happened."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def record(self, stream: "Stream | None" = None) -> None:
        """Do nothing: the event happens at once."""

    def wait(self, stream: "Stream | None" = None) -> None:
        """Do nothing: no stream has to wait."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Do nothing: the CPU does not have to wait either."""


class Stream:
    """Stands in for `torch.cuda.Stream`; its work is done at once."""

    # From torch 2.15 on, FSDP reads these two, the default stream and CUDA, and `device_index`.
    stream_id, device_type = 0, 1

    def __init__(self, device: Any = None, **_: Any) -> None:
        self.device = torch.device("cuda", gpus.current if device is None else index_of(device))
        self.device_index = self.device.index

    def is_capturing(self) -> bool:
        return False

    def synchronize(self) -> None:
        """Do nothing: the work is already done."""

    def wait_stream(self, other: "Stream") -> None:
        """Do nothing, as in `synchronize`."""

    def wait_event(self, event: Event) -> None:
        """Do nothing, as in `synchronize`."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event that has already happened."""
        return event or Event()


class OnStream(DeviceContext):
    """Stands in for `torch.cuda.stream`; within the block, the stream's device is current."""

    def __init__(self, stream: Stream | None) -> None:
        super().__init__(stream.device if stream else gpus.current)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Reset nothing; raises `RuntimeError`, as torch does, if CUDA is not initialized."""
    if not gpus.initialized:
        raise RuntimeError("Invalid device argument : did you call init?")


def begin() -> None:
    """Stand in for `torch.cuda.init`."""
    gpus.initialized = True


def synchronize(device: Any = None) -> None:
    """Do not wait, because the GPU's work is always done; the GPU counts as used."""
    index_of(device)


def install() -> None:
    """From now on, let `torch.cuda` and `torch.accelerator` answer for the pretended GPUs."""
    on_both = {
        "is_available": lambda: True,
        "device_count": lambda: gpus.count,
        "synchronize": synchronize,
        "current_stream": Stream,
    }
    replace(
        torch.cuda,
        **on_both,
        _lazy_init=lambda: None,
        init=begin,
        is_initialized=lambda: gpus.initialized,
        set_device=set_device,
        current_device=index_of,
        device=DeviceContext,
        stream=OnStream,
        is_current_stream_capturing=lambda: False,
        Stream=Stream,
        Event=Event,
        get_device_properties=lambda device=None: PROPERTIES,
        is_bf16_supported=lambda *_: True,
        reset_peak_memory_stats=reset_peak_memory_stats,
        memory_allocated=lambda device=None: words.GIB,
        max_memory_allocated=lambda device=None: 2 * words.GIB,
        get_rng_state=lambda device=None: torch.get_rng_state(),
        set_rng_state=lambda state, device=None: torch.set_rng_state(state),
        manual_seed_all=lambda seed: None,
    )
    replace(
        torch.accelerator,
        **on_both,
        current_accelerator=lambda check_available=False: torch.device("cuda"),
        current_device_index=index_of,
        set_device_index=set_device,
    )
    replace(torch._C, _get_accelerator=lambda *_: torch.device("cuda", gpus.current))
