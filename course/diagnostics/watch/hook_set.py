"""On a rank: hooks on the functions that the script calls; all are removed together.

They use torch's public hooks where torch has them, and otherwise replace the function that the
script calls. The script itself is not changed.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch.distributed as dist
from torch.optim import Optimizer
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.data import DataLoader
from torch.utils.data import dataloader as torch_dataloader
from torch.utils.hooks import RemovableHandle

from course.core import dist_names, insides, interceptor
from course.diagnostics.watch.late_import import OnImport, on_import
from course.diagnostics.watch.report_files import RankFacts

# The private ones are called by these functions, or by DDP, which has hooks of its own.
COLLECTIVES = tuple(name for name in dist_names.COLLECTIVES if not name.startswith("_"))

Function = interceptor.Function
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Around = Callable[[str, Function, Args, Kwargs], Any]
StepHook = Callable[[Optimizer, object, object], None]


def note_group(report: RankFacts) -> None:
    """Write the backend, rank and world size of the script's process group into a report."""
    report.backend = dist.get_backend()
    report.rank, report.world = dist.get_rank(), dist.get_world_size()


class HookSet:
    """The hooks of one observer, until `remove`; keep this object, since hooks end with it."""

    def __init__(self) -> None:
        self._hooks = ExitStack()

    def around(self, ours: Around, names: tuple[str, ...], *homes: object) -> None:
        """Call `ours` instead of the functions `names` of `homes`, by default torch.distributed."""
        self._hooks.enter_context(interceptor.intercepted(ours, names, homes or interceptor.HOMES))

    def add(self, handle: RemovableHandle) -> None:
        """Add one of torch's own hooks, which is then removed together with the others."""
        self._hooks.callback(handle.remove)

    def on_import(self, module: str, act: OnImport) -> None:
        """Call `act` with a module as soon as the script has imported it."""
        self._hooks.enter_context(on_import(module, act))

    def steps(self, before: StepHook, after: StepHook) -> None:
        """Call `before` and `after` around each step of an optimizer."""
        self.add(register_optimizer_step_pre_hook(before))
        self.add(register_optimizer_step_post_hook(after))

    def loaders(self, start: Around, draw: Around, choose: Around | None = None) -> None:
        """Step in when a DataLoader is started, returns a batch, or chooses a batch's indices.

        The first argument of `start` is the loader; `draw` and `choose` get its iterator.
        """
        iterators = insides.inside(torch_dataloader, "_BaseDataLoaderIter")
        self.around(start, ("__iter__",), DataLoader)
        self.around(draw, ("__next__",), iterators)
        if choose:
            self.around(choose, ("_next_index",), iterators)

    def remove(self) -> None:
        """Remove all hooks, the last one first."""
        self._hooks.close()
