"""On a rank: note the lines of the script that change weights other than by an optimizer's step."""

from collections.abc import Set

from torch import Tensor, nn

from course.diagnostics.numerics.context import RankContext
from course.diagnostics.numerics.training import WeightChange
from course.diagnostics.watch.hook_set import Args, Function, HookSet, Kwargs

INITS = tuple(name for name in vars(nn.init) if name.endswith("_") and name[0] != "_")
MAX_CHANGES = 1000  # lines that are kept, at most


class WeightChanges:
    """Notes calls of torch's initializers, of `apply` and `load_state_dict`, and of `copy_`.

    Both its identity and its address identify a tensor, because `.data` returns a new object.
    """

    def __init__(self, context: RankContext) -> None:
        self._report, self._lines, self._fence = context
        self._tensors: dict[tuple[str, int], set[int]] = {}  # by line and pass

    def install(self, hooks: HookSet) -> None:
        """Install the hooks."""
        hooks.around(self._change, INITS, nn.init)
        hooks.around(self._change, ("apply", "load_state_dict"), nn.Module)
        hooks.around(self._change, ("copy_",), Tensor)

    def keep(self, weights: Set[int]) -> None:
        """Keep only the changes of these weights, and forget others, such as a teacher's."""
        touched = zip(self._report.changes, self._tensors.values(), strict=True)
        self._report.changes = [change for change, tensors in touched if tensors & weights]

    def _change(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        # `copy_` is called often, and mostly on tensors that are not weights.
        if self._fence.is_ours and args and (name != "copy_" or args[0].is_leaf):
            with self._fence.around("lines"):
                self._note(args[0])
        return real(*args, **kwargs)

    def _note(self, target: Tensor | nn.Module) -> None:
        tensors = target.parameters() if isinstance(target, nn.Module) else [target]
        place = self._lines.here(), self._report.passes_so_far
        if place not in self._tensors and place[0] and len(self._tensors) < MAX_CHANGES:
            self._tensors[place] = set()
            self._report.changes.append(WeightChange(*place))
        if (identities := self._tensors.get(place)) is not None:
            for tensor in tensors:
                identities |= {id(tensor), tensor.data_ptr()}
