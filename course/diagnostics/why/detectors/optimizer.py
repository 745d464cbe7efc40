"""Detect an optimizer whose step takes long."""

from course.diagnostics.finding import CauseInfo
from course.diagnostics.why.cause import OwnWork

FUSED = ("Adagrad", "Adam", "AdamW", "SGD")  # the optimizers that take `fused=True`
FOREACH = (*FUSED, "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop")
SHARED = "ZeroRedundancyOptimizer"


class Optimizer(OwnWork):
    """The optimizer's step takes long."""

    info = CauseInfo("optimizer", "the optimizer's step takes long", lab="10")
    kind = "optimizer"
    aspect = "the optimizer"
    ignores_longest_step = True

    @property
    def cure(self) -> str:
        """Depends on the optimizer's class, and on what it uses already."""
        script = self.breakdown.script
        ways = []
        if script.optimizer in FOREACH and not script.foreach and not script.fused:
            ways.append("`foreach=True`")
        if script.optimizer in FUSED and not script.fused:
            ways.append("`fused=True`")
        if not script.sharded and script.optimizer != SHARED:
            ways.append(f"a share of its work for each rank (`{SHARED}`)")
        if not ways:
            return "Take fewer steps, with larger batches; or an optimizer that computes less."
        return f"Try {' or '.join(ways)}."
