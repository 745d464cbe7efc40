"""On a rank: note parameters that get gradients and are in no optimizer."""

from collections.abc import Set

from torch import nn

from course.diagnostics.numerics.model_calls import ModelCalls
from course.diagnostics.numerics.training import TrainingReport, UnoptimizedParameter


class UnoptimizedSearch:
    """Collects such parameters, and notes which were made after the first optimizer."""

    def __init__(self, report: TrainingReport, models: ModelCalls) -> None:
        self._report, self._models = report, models
        self._known: dict[int, UnoptimizedParameter] = {}
        self._made_before = 0  # how many parameters were made before the first optimizer

    def note_optimizer(self) -> None:
        """Note that an optimizer has been made."""
        self._made_before = self._made_before or len(self._models.made_lines)

    def note_gradient(self, parameter: nn.Parameter, placed: Set[int]) -> None:
        """Note that a parameter got a gradient; `placed` has the ids of those in optimizers."""
        known = self._known.get(id(parameter)) or self._describe(id(parameter), placed)
        if known is not None:
            known.gradients += 1

    def _describe(self, key: int, placed: Set[int]) -> UnoptimizedParameter | None:
        models = self._models
        root = next((model for model in models.roots.values() if key in model.parameters), None)
        if root is None:
            return None
        made = models.made_lines.get(key, "")
        late = list(models.made_lines).index(key) >= self._made_before if made else False
        missing = [identity for identity in root.parameters if identity not in placed]
        described = UnoptimizedParameter(
            root.parameters[key], made, 0, late, len(root.parameters), len(missing)
        )
        self._known[key] = described
        self._report.unoptimized.append(described)
        return described
