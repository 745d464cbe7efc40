"""On a rank: note parameters that get gradients and are in no optimizer."""

from collections.abc import Set

from torch import nn

from course.own.numbers.models import Models
from course.own.numbers.record import Loose, Rank


class LooseParameters:
    """Notes such parameters by identity, and which were made after the first optimizer."""

    def __init__(self, report: Rank, models: Models) -> None:
        self._report, self._models = report, models
        self._known: dict[int, Loose] = {}
        self._born = 0  # parameters made before the first optimizer

    def optimizer_made(self) -> None:
        """Note that an optimizer has been made."""
        self._born = self._born or len(self._models.made)

    def got(self, parameter: nn.Parameter, placed: Set[int]) -> None:
        """Note that a parameter got a gradient; `placed` are those that optimizers have."""
        known = self._known.get(id(parameter)) or self._describe(id(parameter), placed)
        if known is not None:
            known.passes += 1

    def _describe(self, key: int, placed: Set[int]) -> Loose | None:
        models = self._models
        root = next((each for each in models.roots.values() if key in each.parameters), None)
        if root is None:
            return None
        made = models.made.get(key, "")
        late = list(models.made).index(key) >= self._born if made else False
        missing = [each for each in root.parameters if each not in placed]
        found = Loose(root.parameters[key], made, 0, late, len(root.parameters), len(missing))
        self._known[key] = found
        self._report.loose.append(found)
        return found
