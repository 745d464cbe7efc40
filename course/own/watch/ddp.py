"""On a rank: what `DistributedDataParallel` does inside, which runs in C++.

After each backward pass it can tell when the last gradient was there and when messages went: "for
debugging and analysis", says torch, which promises none of these names. Where one is gone, the
evidence is gone with it, and nothing else.
"""

from collections.abc import Callable
from contextlib import suppress

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from course.own.watch import clocks
from course.own.watch.recorder import Recorder
from course.own.watch.timeline import Pass

NS = 1e-9
RARELY = 100  # passes from one that DDP times to the next, as torch sets it


class Ddp:
    """Asks every DDP module of the script for the times of each of its passes."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._asked: dict[int, int] = {}  # by module: the end of the last pass that was told
        self.facts: list[dict] = []
        self._modules: list[DistributedDataParallel] = []

    def install(self, between: Callable) -> None:
        """Begin; `between` steps between callers and functions."""
        between(self._forward, ("forward",), DistributedDataParallel)
        between(self._buffers, ("_sync_buffers",), DistributedDataParallel)
        between(self._search, ("prepare_for_backward",), dist.Reducer)

    def remove(self) -> None:
        """End: DDP times itself as rarely as before."""
        for ddp in self._modules:
            ddp._set_ddp_runtime_logging_sample_rate(RARELY)
        self._modules.clear()

    def _forward(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        self._recorder.forward()
        result = real(*args, **kwargs)
        if self._recorder.listening and _tells(args[0]):
            with self._recorder.during("watching"), suppress(KeyError):
                self._ask(args[0])
        return result

    def _buffers(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        nbytes = sum(buffer.nbytes for buffer in args[0].modules_buffers)
        if not nbytes:
            return real(*args, **kwargs)
        with self._recorder.during("buffers", "broadcast", nbytes):
            return real(*args, **kwargs)

    def _search(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        """Of a reducer, from the outputs that it is given; where it need not search, from none."""
        if not args[-1]:
            return real(*args, **kwargs)
        with self._recorder.during("search"):
            return real(*args, **kwargs)

    def _ask(self, ddp: DistributedDataParallel) -> None:
        if id(ddp) not in self._asked:
            self._asked[id(ddp)] = 0
            self.facts.append(_facts(ddp))
            self._modules.append(ddp)
            ddp._set_ddp_runtime_logging_sample_rate(1)
            return
        told = ddp._get_ddp_logging_data()
        ended = told.get("backward_compute_time_end", 0)
        if ended <= self._asked[id(ddp)]:
            return
        self._asked[id(ddp)] = ended
        # Its clock is that of the calendar.
        apart = clocks.ahead_of_calendar()
        start = told["backward_compute_time_start"] * NS + apart
        buckets = str(told.get("rebuilt_bucket_sizes") or told.get("bucket_sizes", ""))
        self._recorder.passed(
            Pass(
                id(ddp),
                start,
                ended * NS + apart,
                told["backward_compute_time"] * NS,
                told.get("backward_comm_time", 0) * NS,
                told.get("backward_compute_comm_overlap_time", 0) * NS,
                [int(each) for each in buckets.split(",") if each.strip()],
                told.get("unused_parameter_size", 0),
            )
        )


def _tells(ddp: DistributedDataParallel) -> bool:
    """Whether this torch's DDP can be asked for the times of its passes."""
    rate = hasattr(ddp, "_set_ddp_runtime_logging_sample_rate")
    return rate and hasattr(ddp, "_get_ddp_logging_data")


def _facts(ddp: DistributedDataParallel) -> dict:
    return {
        "finds_unused": bool(ddp.find_unused_parameters),
        "buffers": sum(buffer.nbytes for buffer in ddp.modules_buffers),
        "ranks": dist.get_world_size(ddp.process_group),
    }
