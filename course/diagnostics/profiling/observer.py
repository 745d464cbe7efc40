"""On a rank: watch the steps of the script, and write the rank's report."""

import atexit
import os
import platform
from collections.abc import Callable
from pathlib import Path

import torch

from course.diagnostics.profiling.gpus import GpuRecording, on_gpu
from course.diagnostics.profiling.hooks import Hooks
from course.diagnostics.profiling.recorder import Recorder
from course.diagnostics.profiling.timeline import RankReport
from course.diagnostics.watch import report_files
from course.diagnostics.watch.lines import Lines


def observe(folder: Path, steps: int, script: str) -> Callable[[], None]:
    """Begin to watch this process: `steps` steps after a warm-up, which it writes to `folder`.

    Call the function that it returns when the script ends: it stops the watching. The rank is
    taken from the group that the script joins, or else from the environment.
    """
    process = os.getpid()
    report = RankReport(*report_files.launched_as(), 1)
    trace = folder / f"gpu-of-{process}.json"

    def end() -> None:
        hooks.remove()
        if os.getpid() != process or not (report.seen or report_files.is_of_a_rank(report)):
            return
        from course import hardware  # slow to import, so only after the steps have been watched

        report.local = report_files.local_ranks(report.world)
        report.device = "cuda" if on_gpu() else "cpu"
        report.host = platform.node()
        report.threads, report.cores = torch.get_num_threads(), hardware.cores()
        report.clock_offset = recording.clock_offset
        report.gpu_unknown_because = recording.unknown_because
        if trace.exists():
            trace.rename(folder / f"gpu{report.rank}.json")
        report_files.write(report, folder)

    recording = GpuRecording(trace)
    recorder = Recorder(report, steps, Lines(script), recording, end)
    hooks = Hooks(recorder, recording)
    hooks.install()

    def stop() -> None:
        report.is_over = True
        recorder.stop()

    atexit.register(stop)
    return stop
