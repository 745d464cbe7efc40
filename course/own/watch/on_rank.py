"""Run a script as a rank would, and watch it: ``on_rank.py FOLDER STEPS SCRIPT ARGUMENTS``.

In place of SCRIPT there may be ``-m MODULE``. What was seen is written to FOLDER, as soon as that
many steps have passed.
"""

import atexit
import os
import runpy
import sys
from pathlib import Path
from types import TracebackType

import torch
import torch.distributed as dist

from course import hardware
from course.launch import forked
from course.own.watch import timeline
from course.own.watch.gpus import Recording, on_gpu
from course.own.watch.hooks import Hooks
from course.own.watch.recorder import Recorder

MODULE = ("-m", "--module")
OURS = str(Path(__file__).resolve().parents[2]) + os.sep


def watch(folder: Path, steps: int, script: str) -> None:
    """Begin to watch this process."""
    rank = int(os.environ.get("RANK", "0"))
    process = os.getpid()

    def ended() -> None:
        hooks.remove()
        if os.getpid() == process:  # not in a loader's worker
            told = _told(recorder, hooks, rank)
            told.apart, told.blind = recording.apart, recording.blind
            timeline.write(told, folder / f"rank{rank}.json")

    recording = Recording(folder / f"gpu{rank}.json")
    recorder = Recorder(steps, script, recording, ended)
    hooks = Hooks(recorder, recording)
    hooks.install()
    atexit.register(recorder.stop)


def _told(recorder: Recorder, hooks: Hooks, rank: int) -> timeline.Rank:
    joined = dist.is_available() and dist.is_initialized()
    return timeline.Rank(
        rank=rank,
        world=int(os.environ.get("WORLD_SIZE", "1")),
        local=int(os.environ.get("LOCAL_WORLD_SIZE", "1")),
        backend=dist.get_backend() if joined else hooks.backend,
        device="cuda" if on_gpu() else "cpu",
        clock=recorder.clock,
        threads=torch.get_num_threads(),
        cores=hardware.cores(),
        gradients=hooks.gradients,
        largest=hooks.largest,
        iterating=recorder.iterating,
        seen=recorder.seen,
        ddp=hooks.ddp.facts,
        loaded=recorder.loaded,
        lines=recorder.where,
        cpu_s=recorder.cpu_s,
        busy_s=recorder.busy_s,
        queued_s=recorder.queued_s,
        watched_s=recorder.watched_s,
        steps=recorder.steps,
        recorded=recorder.recorded,
    )


def _without_ours(error: type, value: BaseException, stack: TracebackType | None) -> None:
    """Show an exception as the script alone would, without the frames that lead to it."""
    while stack is not None and stack.tb_frame.f_code.co_filename.startswith(OURS):
        stack = stack.tb_next
    sys.__excepthook__(error, value.with_traceback(stack), stack)


if __name__ == "__main__":
    sys.path.pop(0)  # this folder; the last line puts the script's there
    sys.excepthook = _without_ours
    folder, steps, script, *arguments = sys.argv[1:]
    watch(Path(folder), int(steps), script)
    if script in MODULE:
        sys.argv = arguments
        sys.path.insert(0, os.getcwd())
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        forked.run_as_main([script, *arguments])
