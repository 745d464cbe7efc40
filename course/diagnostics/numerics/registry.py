"""On a rank: register the script's optimizers, and the place of each parameter in them."""

import sys
import weakref

from torch.distributed.algorithms.join import Join
from torch.optim import Optimizer

from course.diagnostics.numerics.context import RankContext
from course.diagnostics.numerics.model_calls import ModelCalls
from course.diagnostics.numerics.optimizers import GradientProbes, OptimizerProbe
from course.diagnostics.numerics.training import OptimizerReport
from course.diagnostics.numerics.unoptimized import UnoptimizedSearch
from course.diagnostics.watch import frames
from course.diagnostics.watch.hook_set import Args, Function, HookSet, Kwargs


class OptimizerRegistry:
    """Keeps a probe for each optimizer, and adds the parameters of each to `gradients`."""

    def __init__(
        self,
        context: RankContext,
        models: ModelCalls,
        gradients: GradientProbes,
        unoptimized: UnoptimizedSearch,
    ) -> None:
        self._report, self._lines, self._fence = context
        self._models, self._gradients, self._unoptimized = models, gradients, unoptimized
        self._made_at: dict[int, str] = {}
        self._by_optimizer: dict[int, OptimizerProbe] = {}  # by identity
        # Optimizers that others made: those get the gradients, as the script calls their steps.
        self._inner: weakref.WeakSet[Optimizer] = weakref.WeakSet()
        self.places: dict[int, tuple[OptimizerProbe, int]] = {}  # by parameter identity

    def install(self, hooks: HookSet) -> None:
        """Install the hooks."""
        hooks.around(self._make, ("__init__",), Optimizer)
        hooks.around(self._restore, ("load_state_dict",), Optimizer)
        hooks.around(self._leave_join, ("__exit__",), Join)

    @property
    def probes(self) -> list[OptimizerProbe]:
        """The probes of all optimizers."""
        return list(self._by_optimizer.values())

    def probe(self, optimizer: Optimizer) -> OptimizerProbe:
        """The optimizer's probe, which is made if it is new."""
        probe = self._by_optimizer.get(id(optimizer))
        if probe is None:
            made_at = self._made_at.get(id(optimizer), "")
            report = OptimizerReport(type(optimizer).__name__, made_at)
            probe = self._by_optimizer[id(optimizer)] = OptimizerProbe(optimizer, report)
        return probe

    def refresh(self, probe: OptimizerProbe) -> None:
        """Note the parameters of an optimizer, if their number has changed."""
        before = len(probe.parameters)
        probe.refresh(self._models.name, self._models.made_at)
        if len(probe.parameters) != before:
            for param_index, parameter in enumerate(probe.parameters):
                self.places[id(parameter)] = probe, param_index
            self._gradients.add(probe.parameters)

    def _make(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> None:
        real(*args, **kwargs)
        if self._fence.is_ours:
            with self._fence.around("lines"):
                self._unoptimized.note_optimizer()
                self._made_at[id(args[0])] = self._lines.here()
                if _is_made_by_another(args[0]):
                    self._inner.add(args[0])
                else:
                    self.probe(args[0])

    def _leave_join(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        """Note that this rank has no more batches; others may have some, and take further steps."""
        if self._fence.is_ours:
            for probe in self.probes:
                if probe.report.joined_at is None:
                    probe.report.joined_at = probe.report.steps
        return real(*args, **kwargs)

    def _restore(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        if self._fence.is_ours and args[0] not in self._inner:
            with self._fence.around("resume"):
                state = args[1] if len(args) > 1 else kwargs["state_dict"]
                report, line = self.probe(args[0]).report, self._lines.here()
                if state["state"]:  # accelerate's prepare loads an empty one
                    if line not in self._report.restored_at:
                        self._report.restored_at.append(line)
                    if not report.steps:
                        report.restored = report.restored or line
        return real(*args, **kwargs)


def _is_made_by_another(optimizer: Optimizer) -> bool:
    """Whether a method of another optimizer makes this one, as in ZeroRedundancyOptimizer."""
    selves = (frame.f_locals.get("self") for frame in frames.outwards(sys._getframe(1)))
    return any(isinstance(other, Optimizer) and other is not optimizer for other in selves)
