"""On a rank: note parameters that get gradients and are in no optimizer."""

from collections.abc import Set

from torch import nn

from course.own.numerics.model_calls import ModelCalls
from course.own.numerics.training import LooseParameter, TrainingReport


class LooseSearch:
    """Notes such parameters by identity, and which were made after the first optimizer."""

    def __init__(self, report: TrainingReport, models: ModelCalls) -> None:
        self._report, self._models = report, models
        self._known: dict[int, LooseParameter] = {}
        self._born = 0  # parameters made before the first optimizer

    def optimizer_made(self) -> None:
        """Note that an optimizer has been made."""
        self._born = self._born or len(self._models.made)

    def note_gradient(self, parameter: nn.Parameter, placed: Set[int]) -> None:
        """Note that a parameter got a gradient; `placed` are those that optimizers have."""
        loose = self._known.get(id(parameter)) or self._describe(id(parameter), placed)
        if loose is not None:
            loose.passes += 1

    def _describe(self, key: int, placed: Set[int]) -> LooseParameter | None:
        models = self._models
        root = next((model for model in models.roots.values() if key in model.parameters), None)
        if root is None:
            return None
        made = models.made.get(key, "")
        late = list(models.made).index(key) >= self._born if made else False
        missing = [identity for identity in root.parameters if identity not in placed]
        loose = LooseParameter(
            root.parameters[key], made, 0, late, len(root.parameters), len(missing)
        )
        self._known[key] = loose
        self._report.loose.append(loose)
        return loose
