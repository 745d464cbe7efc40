"""On a rank: hooks on what the script calls, which are removed together.

The hooks are torch's public ones if there are any; otherwise they step between the script and the
function that it calls. The script is not changed.
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

# The private ones are called from within these, or by DDP, whose work is seen elsewhere.
COLLECTIVES = tuple(name for name in dist_names.COLLECTIVES if not name.startswith("_"))

Function = interceptor.Function
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Around = Callable[[str, Function, Args, Kwargs], Any]
StepHook = Callable[[Optimizer, object, object], None]


def note_group(report: RankFacts) -> None:
    """Put into a report what the group says that the script has joined."""
    report.backend = dist.get_backend()
    report.rank, report.world = dist.get_rank(), dist.get_world_size()


class HookSet:
    """The hooks of one observer, until `remove`; they go with this object, so keep it."""

    def __init__(self) -> None:
        self._all = ExitStack()

    def around(self, ours: Around, names: tuple[str, ...], *homes: object) -> None:
        """Have `ours` called instead of the functions so named, of torch.distributed or `homes`."""
        self._all.enter_context(interceptor.intercepted(ours, names, homes or interceptor.HOMES))

    def add(self, handle: RemovableHandle) -> None:
        """Remove a hook of torch together with the others."""
        self._all.callback(handle.remove)

    def on_import(self, module: str, act: OnImport) -> None:
        """Have `act` called with a module once the script has imported it."""
        self._all.enter_context(on_import(module, act))

    def steps(self, before: StepHook, after: StepHook) -> None:
        """Have these called before and after each step of an optimizer."""
        self.add(register_optimizer_step_pre_hook(before))
        self.add(register_optimizer_step_post_hook(after))

    def loaders(self, start: Around, draw: Around, choose: Around | None = None) -> None:
        """Step in when a DataLoader is started, gives a batch, or chooses the indices of one.

        The first argument of `start` is the loader, that of the others its iterator.
        """
        iterators = insides.inside(torch_dataloader, "_BaseDataLoaderIter")
        self.around(start, ("__iter__",), DataLoader)
        self.around(draw, ("__next__",), iterators)
        if choose:
            self.around(choose, ("_next_index",), iterators)

    def remove(self) -> None:
        """Remove all hooks, the last one first."""
        self._all.close()
