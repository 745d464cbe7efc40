"""On a rank: count the steps of schedules, and note rates that have come down to 0."""

import sys
from collections.abc import Callable

import torch

from course.own.numbers.fence import Fence
from course.own.numbers.optimizers import Watched
from course.own.watch.lines import Lines

LIBRARIES = ("accelerate.", "transformers.")


class Schedules:
    """Counts the steps that the script itself takes, and not accelerate's one per process."""

    def __init__(self, lines: Lines, fence: Fence) -> None:
        self._lines, self._fence = lines, fence
        self.count, self.line = 0, ""

    def install(self, between: Callable) -> None:
        """Install the hooks; `between` steps between callers and functions of torch's."""
        base = torch.optim.lr_scheduler.LRScheduler
        kinds = [each for each in (base, *base.__subclasses__()) if "step" in vars(each)]
        between(self._step, ("step",), *kinds)

    def _step(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        if self._fence.is_ours:
            with self._fence.around("lines"):
                self.count += not _in_library()
                self.line = self._lines.here()
        return real(*args, **kwargs)


def _in_library() -> bool:
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(LIBRARIES):
            return True
        frame = frame.f_back
    return False


def note_rate(watched: Watched) -> None:
    """Count a step whose rates are all 0, after larger ones."""
    if any(float(group.get("lr", 0.0)) for group in watched.optimizer.param_groups):
        watched.positive = True
    elif watched.positive:
        watched.report.zero_rates += 1
        watched.report.zero_from = watched.report.zero_from or watched.report.steps + 1
