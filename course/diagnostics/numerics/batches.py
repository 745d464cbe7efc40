"""On a rank, for `right --deep`: save each rank's batches, then give all of them to one process.

The same script runs twice, both times without dropout. First, each rank saves the batches that its
loaders return. Then one process draws from its own loaders, and gets the ranks' batches instead,
stacked.
"""

import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from course.core import insides
from course.diagnostics.numerics.context import RankContext
from course.diagnostics.numerics.guarded_hooks import GuardedHooks
from course.diagnostics.numerics.stacking import CannotStack, stack
from course.diagnostics.numerics.training import COMMAND, KEPT_BATCHES
from course.diagnostics.watch import samples
from course.diagnostics.watch.hook_set import Args, Function, Kwargs

BYTES = 2**30  # bytes of batches that a rank saves, about


class Batches:
    """Saves batches to `folder`, or replaces the script's batches by those in the folder.

    The number of its pass over a loader and its own number in that pass, both from 0, identify a
    batch, because the same script makes the same passes on one process. `is_over` tells whether
    the watched steps are done.
    """

    def __init__(self, folder: Path, context: RankContext, is_over: Callable[[], bool]) -> None:
        self._folder, self._is_over = folder, is_over
        self._report, _, self._fence = context
        ranks = {int(path.name.partition("-")[0]) for path in folder.glob("*.pt")}
        self._is_alone = os.environ.get("WORLD_SIZE") == "1"
        self._ranks = sorted(ranks) if self._is_alone else []  # the ranks whose batches are given
        self._opened = self._bytes = 0
        self._by_iterator: dict[
            int, tuple[int, int]
        ] = {}  # by iterator: the number of the pass, and the batches so far
        self._hooks = GuardedHooks(self._fence)  # a reference that keeps the hooks alive

    def install(self) -> None:
        """Install the hooks, which stay until the script ends, and seed the script."""
        self._hooks.loaders(self._open, self._draw)
        norms = nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d
        self._hooks.around(self._note_batch_norm, ("forward",), *norms)
        _remove_randomness()
        if os.environ.get("RANK") == "0" and not self._is_alone:
            words = [sys.executable, *sys.orig_argv[1:]]
            raw = json.dumps({"words": words, "env": dict(os.environ)})
            (self._folder / COMMAND).touch(0o600)
            (self._folder / COMMAND).write_text(raw)

    def _open(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        iterator = real(*args, **kwargs)
        if self._fence.is_ours:
            self._by_iterator[id(iterator)] = self._opened, 0
            self._opened += 1
        return iterator

    def _draw(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        batch = real(*args, **kwargs)
        if not self._fence.is_ours or self._is_over() or id(args[0]) not in self._by_iterator:
            return batch
        pass_number, number = self._by_iterator[id(args[0])]
        self._by_iterator[id(args[0])] = pass_number, number + 1
        with self._fence.around(KEPT_BATCHES):
            try:
                if self._ranks:
                    return self._stacked(batch, pass_number, number)
                self._keep(batch, pass_number, number)
            except CannotStack as error:
                self._report.unseen.setdefault(KEPT_BATCHES, f"the batches {error}")
        return batch

    def _keep(self, batch: object, pass_number: int, number: int) -> None:
        if self._bytes < BYTES:
            path = self._folder / f"{self._report.rank}-{pass_number}-{number}.pt"
            torch.save(stack([batch]), path)  # a copy: torch.save saves a view's whole storage
            self._bytes += path.stat().st_size

    def _stacked(self, batch: object, pass_number: int, number: int) -> object:
        device = next((tensor.device for tensor in samples.tensors(batch)), None)
        paths = [self._folder / f"{rank}-{pass_number}-{number}.pt" for rank in self._ranks]
        if not all(path.exists() for path in paths):
            raise CannotStack("do not come from the same loaders on all ranks")
        return stack([torch.load(path, device, weights_only=False) for path in paths])

    def _note_batch_norm(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        self._report.batch_norm |= args[0].training
        return real(*args, **kwargs)


def _remove_randomness() -> None:
    """Seed this process as all others, and turn off dropout, however the script calls it."""
    torch.manual_seed(0)
    random.seed(0)
    for name in vars(functional):
        if "dropout" in name and not name.startswith("_"):
            insides.replace(functional, name, _identity)
    attention = functional.scaled_dot_product_attention

    def attend(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
               dropout_p: float = 0.0, *args: Any, **kwargs: Any) -> Tensor:  # fmt: skip
        return attention(query, key, value, attn_mask, 0.0, *args, **kwargs)

    insides.replace(functional, "scaled_dot_product_attention", attend)
    no_dropout = property(lambda _: 0.0, lambda _, value: None)
    nn.RNNBase.dropout = no_dropout  # pyrefly: ignore[bad-assignment, instance-var-assign]


def _identity(input: Tensor, *_: object, **__: object) -> Tensor:
    return input
