"""On a rank: count the steps of learning rate schedules, and the steps with a rate of 0."""

import sys

import torch

from course.diagnostics.numerics.context import RankContext
from course.diagnostics.numerics.optimizers import OptimizerProbe
from course.diagnostics.watch import frames
from course.diagnostics.watch.hook_set import Args, Function, HookSet, Kwargs

FRAMEWORKS = ("accelerate.", "transformers.")


class Schedules:
    """Counts the schedule steps of the script itself; accelerate steps once for each process."""

    def __init__(self, context: RankContext) -> None:
        _, self._lines, self._fence = context
        self.count, self.line = 0, ""

    def install(self, hooks: HookSet) -> None:
        """Install the hooks."""
        base = torch.optim.lr_scheduler.LRScheduler
        kinds = [
            scheduler for scheduler in (base, *base.__subclasses__()) if "step" in vars(scheduler)
        ]
        hooks.around(self._step, ("step",), *kinds)

    def _step(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        if self._fence.is_ours:
            with self._fence.around("lines"):
                self.count += not _in_framework()
                self.line = self._lines.here()
        return real(*args, **kwargs)


def _in_framework() -> bool:
    return any(name.startswith(FRAMEWORKS) for name in frames.modules(sys._getframe(2)))


def note_rate(probe: OptimizerProbe) -> None:
    """Count a step whose learning rates are all 0, if one was larger before."""
    if any(float(group.get("lr", 0.0)) for group in probe.optimizer.param_groups):
        probe.had_positive_rate = True
    elif probe.had_positive_rate:
        probe.report.zero_rates += 1
        probe.report.zero_from = probe.report.zero_from or probe.report.steps + 1
