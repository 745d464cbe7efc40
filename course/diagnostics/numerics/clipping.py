"""On a rank: note which line clips gradients, and whether they are still scaled by a GradScaler."""

import torch
from torch import nn

from course.diagnostics.numerics.context import RankContext
from course.diagnostics.numerics.registry import OptimizerRegistry
from course.diagnostics.watch.hook_set import Args, Function, HookSet, Kwargs

CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_")


class Clipping:
    """Watches the functions that scale, unscale and clip between a backward pass and a step."""

    def __init__(self, context: RankContext, registry: OptimizerRegistry) -> None:
        _, self._lines, self._fence = context
        self._optimizers = registry
        self.scaled = self._unscaled = False

    def install(self, hooks: HookSet) -> None:
        """Install the hooks."""
        hooks.around(self._clip, CLIPS, nn.utils, nn.utils.clip_grad)
        hooks.around(self._scale, ("scale",), torch.amp.GradScaler)
        hooks.around(self._unscale, ("unscale_",), torch.amp.GradScaler)

    def begin_step(self) -> None:
        """Forget this step's scaling, because the next step begins."""
        self.scaled = self._unscaled = False

    def _clip(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        if self._fence.is_ours:
            with self._fence.around("clipping"):
                self._note(self._lines.here())
        return real(*args, **kwargs)

    def _note(self, line: str) -> None:
        for probe in self._optimizers.probes:
            probe.sample_first()
            if probe.got or probe.report.sharded:
                probe.clips.append(line)
                if self.scaled and not self._unscaled:
                    probe.early_clip = line

    def _scale(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        self.scaled |= args[0].is_enabled()
        return real(*args, **kwargs)

    def _unscale(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        self._unscaled = True
        if self._fence.is_ours:
            with self._fence.around("own gradient"):
                for probe in self._optimizers.probes:
                    probe.sample_first()
        return real(*args, **kwargs)
