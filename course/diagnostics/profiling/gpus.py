"""On a rank with a GPU: let torch.profiler record what the GPU does in a few more steps.

These steps come after the timed ones, since the profiler slows a step down. It records only the
GPU's work, because that costs least.
"""

from pathlib import Path

import torch
from torch import profiler

from course.diagnostics.profiling import clocks
from course.diagnostics.profiling.timeline import NO_PROFILER, TAKEN, TOO_SHORT

STEPS = 6  # the first is lost, because the recording begins in the middle of it


class GpuRecording:
    """Records this rank's GPU from `begin` to `end`.

    `unknown_because` is the reason if it recorded nothing. `clock_offset` is by how many seconds
    the recorder's clock is ahead of the calendar's.
    """

    def __init__(self, trace: Path) -> None:
        self._trace = trace
        self._profile: profiler.profile | None = None
        self._may_begin = True
        self.unknown_because = TOO_SHORT
        self.clock_offset = 0.0

    def begin(self) -> bool:
        """Begin, and return whether it records; it never does on a rank without a GPU."""
        if not (self._may_begin and on_gpu()):
            return False
        self._may_begin = False
        if profiler.ProfilerActivity.CUDA not in profiler.supported_activities():
            self.unknown_because = NO_PROFILER
            return False
        profile = profiler.profile(activities=[profiler.ProfilerActivity.CUDA])
        try:
            profile.prepare_trace()
            profile.start_trace()  # not `start`, which is watched: the script may call it
        except (RuntimeError, AssertionError) as error:  # must not end the training
            self.unknown_because = f"torch.profiler could not begin: {error}"
            return False
        self._profile, self.unknown_because = profile, ""
        self.clock_offset = clocks.calendar_offset()
        return True

    def give_way(self) -> None:
        """Stop, because the script itself starts a profiler."""
        self.end()
        self._may_begin = False
        self.unknown_because = TAKEN

    def end(self) -> None:
        """Stop recording and write the trace; does nothing if nothing is being recorded."""
        if self._profile:
            self._profile.stop_trace()
            self._profile.export_chrome_trace(str(self._trace))
            self._profile = None


def on_gpu() -> bool:
    """Whether this process has begun to use a GPU."""
    return torch.cuda.is_available() and torch.cuda.is_initialized()
