"""On a rank: time what `DistributedDataParallel` does in C++.

After each backward pass DDP can report when the last gradient was ready and when it communicated.
These functions are "for debugging and analysis", and torch may rename or remove them. If one is
missing, only its evidence is lost.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from course.diagnostics.profiling import clocks, timeline
from course.diagnostics.profiling.recorder import Recorder
from course.diagnostics.profiling.timeline import DdpPass
from course.diagnostics.watch.hook_set import Args, Function, HookSet, Kwargs

NS = 1e-9
TORCH_RATE = 100  # DDP times one pass in this many by default


@dataclass
class _Model:
    """A DDP module of the script, its facts for the report, and the end of its last known pass.

    `ended` is in nanoseconds, by DDP's own clock.
    """

    module: DistributedDataParallel
    facts: timeline.Ddp
    ended: int = 0


class DdpHooks:
    """Watches every DDP module of the script, and collects the times of each of its passes."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._models: dict[int, _Model] = {}

    def install(self, hooks: HookSet) -> None:
        """Begin to watch, with these hooks."""
        hooks.around(self._on_init, ("__init__",), DistributedDataParallel)
        hooks.around(self._on_forward, ("forward",), DistributedDataParallel)
        hooks.around(self._on_no_sync, ("no_sync",), DistributedDataParallel)
        hooks.around(self._on_buffers, ("_sync_buffers",), DistributedDataParallel)
        hooks.around(self._on_search, ("prepare_for_backward",), dist.Reducer)

    def remove(self) -> None:
        """Stop watching, and let DDP time itself as rarely as before."""
        for model in self._models.values():
            if _can_report(model.module):
                model.module._set_ddp_runtime_logging_sample_rate(TORCH_RATE)
        self._models.clear()

    def _on_init(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> None:
        real(*args, **kwargs)
        if not self._recorder.active:
            return
        ddp = args[0]
        facts = timeline.Ddp(
            bool(ddp.find_unused_parameters),
            sum(buffer.nbytes for buffer in ddp.modules_buffers),
            dist.get_world_size(ddp.process_group),
            self._recorder.lines.here(),
            bool(getattr(ddp, "static_graph", False)),
        )
        self._models[id(ddp)] = _Model(ddp, facts)
        self._recorder.report.script.ddp.append(facts)
        if _can_report(ddp):
            ddp._set_ddp_runtime_logging_sample_rate(1)

    def _on_forward(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        self._recorder.forward()
        result = real(*args, **kwargs)
        model = self._models.get(id(args[0]))
        if model and self._recorder.listening:
            self._count(model)
            if _can_report(model.module):
                with self._recorder.during("watching"), suppress(KeyError):
                    self._read_times(model)
        return result

    def _count(self, model: _Model) -> None:
        """Count this forward pass if a backward pass may follow it."""
        if self._recorder.warm and torch.is_grad_enabled():
            if model.module.require_backward_grad_sync:
                model.facts.forwards += 1
            else:
                model.facts.no_sync_forwards += 1

    def _on_no_sync(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        script = self._recorder.report.script
        script.no_sync = script.no_sync or self._recorder.lines.here()
        return real(*args, **kwargs)

    def _on_buffers(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        nbytes = sum(buffer.nbytes for buffer in args[0].modules_buffers)
        if not nbytes:
            return real(*args, **kwargs)
        with self._recorder.during("buffers", "broadcast", nbytes):
            return real(*args, **kwargs)

    def _on_search(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        """Time the reducer's search for unused parameters; DDP skips it if it gets no outputs."""
        if not args[-1]:
            return real(*args, **kwargs)
        with self._recorder.during("search"):
            return real(*args, **kwargs)

    def _read_times(self, model: _Model) -> None:
        data: dict[str, Any] = model.module._get_ddp_logging_data()
        model.facts.bucket_cap_bytes = data.get("bucket_cap_bytes", 0)
        model.facts.hook = data.get("comm_hook", "")
        ended = data.get("backward_compute_time_end", 0)
        if ended <= model.ended:
            return
        model.ended = ended
        # DDP's clock is the calendar's.
        offset = clocks.calendar_offset()
        buckets = str(data.get("rebuilt_bucket_sizes") or data.get("bucket_sizes", ""))
        self._recorder.on_pass(
            DdpPass(
                id(model.module),
                data["backward_compute_time_start"] * NS + offset,
                ended * NS + offset,
                data["backward_compute_time"] * NS,
                data.get("backward_comm_time", 0) * NS,
                data.get("backward_compute_comm_overlap_time", 0) * NS,
                [int(size) for size in buckets.split(",") if size.strip()],
                data.get("unused_parameter_size", 0),
            )
        )


def _can_report(ddp: DistributedDataParallel) -> bool:
    """Whether DDP in this version of torch can report the times of its passes."""
    rate = hasattr(ddp, "_set_ddp_runtime_logging_sample_rate")
    return rate and hasattr(ddp, "_get_ddp_logging_data")
