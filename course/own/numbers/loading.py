"""On a rank: watch the script's DataLoaders, their samplers, and the workers' random numbers."""

import builtins
import json
import os
import random
import sys
import weakref
import zlib
from collections.abc import Callable, Sized
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType

import torch
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, RandomSampler
from torch.utils.data import dataloader as torchs

from course.core import insides
from course.own.numbers import choosing
from course.own.numbers.counting import Counts, counts
from course.own.numbers.fence import Fence
from course.own.numbers.record import Iteration, Rank
from course.own.watch import samples
from course.own.watch.late_import import on_import
from course.own.watch.lines import Lines

FIRST = 64  # indices of an iteration that are kept
BATCHES = 8  # of an iteration whose samples are kept
KEPT = 64  # iterations of a run
LOOKED = 2  # batches of a worker
ALL = 2**20  # samples of a batch
TORCHS = ("RandomSampler", "SequentialSampler", "DistributedSampler", "WeightedRandomSampler")
LIBRARIES = {"accelerate.data_loader": "accelerate", "transformers.trainer": "Trainer"}


class Loading:
    """Watches every DataLoader until the script ends."""

    def __init__(self, report: Rank, lines: Lines, fence: Fence, folder: Path) -> None:
        self._report, self._lines, self._fence, self._folder = report, lines, fence, folder
        self._made: dict[int, str] = {}
        self._numbers: dict[int, tuple[weakref.ref, int]] = {}  # of loaders and samplers
        self._count = self._fetches = 0
        self._going: dict[int, Iteration] = {}
        self._last: Iteration | None = None
        self._counts: dict[int, Counts] = {}  # by iteration: what was counted before it

    def install(self, between: Callable, enter: Callable) -> None:
        """Install the hooks; `between` wraps functions of torch's, `enter` takes a context."""
        iterators = insides.inside(torchs, "_BaseDataLoaderIter")
        between(self._print, ("print",), builtins)
        between(self._make, ("__init__",), DataLoader)
        between(self._open, ("__iter__",), DataLoader)
        between(self._draw, ("__next__",), iterators)
        between(self._choose, ("_next_index",), iterators)
        fetchers = sys.modules.get("torch.utils.data._utils.fetch")
        for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
            if hasattr(fetchers, name):
                between(self._fetch, ("fetch",), getattr(fetchers, name))
        for module, home, name, around in (
            ("accelerate.data_loader", "DataLoaderStateMixin", "end", self._end),
            ("accelerate.accelerator", "Accelerator", "gather_for_metrics", self._gather),
        ):
            install = partial(self._on_import, between, around, home, name)
            enter(on_import(module, install))

    @staticmethod
    def _on_import(between: Callable, around: Callable, home: str, name: str,
                   module: ModuleType) -> None:  # fmt: skip
        if hasattr(module, home):
            between(around, (name,), getattr(module, home))

    def trained(self) -> None:
        """Note that a backward pass begins, on what was drawn last."""
        if self._last is not None:
            self._last.batches += 1
            self._last = None

    def asked(self) -> None:
        """Note that a model is called without gradients, on what was drawn last."""
        if self._last is not None:
            self._last.asks += 1

    @property
    def evaluation(self) -> Iteration | None:
        """Return the pass over a loader that was evaluated last, if nothing came after it."""
        return self._last if self._last is not None and self._last.asks else None

    def reported(self) -> None:
        """Note that the script prints or writes something, perhaps the result of an evaluation."""
        if (evaluation := self.evaluation) is not None and evaluation.is_over:
            evaluation.reports += 1

    def _print(self, name: str, real: Callable, args: tuple, kwargs: dict) -> None:
        if self._fence.is_ours:
            self.reported()
        real(*args, **kwargs)

    def _make(self, name: str, real: Callable, args: tuple, kwargs: dict) -> None:
        real(*args, **kwargs)
        if self._fence.is_ours:
            with self._fence.around("loaders"):
                self._made[id(args[0])] = self._lines.here()

    def _open(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        iterator = real(*args, **kwargs)
        if self._fence.is_ours and len(self._report.iterations) < KEPT:
            with self._fence.around("loaders"):
                found = self._describe(args[0])
                self._report.iterations.append(found)
                self._going[id(iterator)] = found
                if before := counts(sys._getframe(1), self._lines.is_own):
                    self._counts[id(found)] = before
        return iterator

    def _describe(self, loader: DataLoader) -> Iteration:
        stream = isinstance(loader.dataset, IterableDataset)
        outer = loader.batch_sampler
        inner = getattr(outer, "batch_sampler", outer)  # of accelerate's shard
        sampler = loader.sampler if outer is None else getattr(inner, "sampler", None)
        dealt = isinstance(sampler, DistributedSampler)
        found = Iteration(
            self._number(loader),
            self._number(loader if sampler is None or stream else sampler),
            "" if stream or sampler is None else type(sampler).__name__,
            self._made.get(id(loader), ""),
            _length(loader.dataset),
            opened_at=self._lines.here(),
            stream=stream,
            workers=loader.num_workers,
            library=_library(),
            twice=dealt and type(outer).__name__ == "BatchSamplerShard",
        )
        if dealt:
            found.epoch, found.seed, found.shuffles = sampler.epoch, sampler.seed, sampler.shuffle
            found.rank, found.replicas = sampler.rank, sampler.num_replicas
            found.total = sampler.total_size
        if isinstance(sampler, RandomSampler):
            found.shuffles, found.replaces = True, sampler.replacement
        return found

    def _number(self, each: object) -> int:
        ref, number = self._numbers.get(id(each), (lambda: None, 0))
        if ref() is not each:
            number = self._count = self._count + 1
            self._numbers[id(each)] = weakref.ref(each), number
        return number

    def _draw(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        going = self._going.get(id(args[0]))
        try:
            batch = real(*args, **kwargs)
        except StopIteration:
            if going is not None:
                going.is_over = True
                self._note_counts(going)
            raise
        if going is not None and self._fence.is_ours:
            self._last = going
            going.drawn += 1
            with self._fence.around("samples"):
                if len(going.rows) < BATCHES:
                    going.rows.append(samples.rows(batch))
                if going.stream:
                    choosing.choose(going, samples.rows(batch, ALL))
                    going.given += 1
        return batch

    def _end(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        """Note the end of a pass; accelerate draws ahead, and calls this after the last batch."""
        if self._fence.is_ours:
            with self._fence.around("evaluation"):
                number = self._number(getattr(args[0], "base_dataloader", args[0]))
                of_it = [each for each in self._report.iterations if each.loader == number]
                if of_it and of_it[-1].is_over:
                    self._note_counts(of_it[-1])
        return real(*args, **kwargs)

    def _gather(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        if self._last is not None and self._fence.is_ours:
            self._last.cuts = True
        return real(*args, **kwargs)

    def _note_counts(self, going: Iteration) -> None:
        """Note, at the end of a pass, by how much the numbers around it have grown."""
        with self._fence.around("evaluation"):
            before = self._counts.get(id(going))
            after = counts(sys._getframe(1), self._lines.is_own)
            if before and after and going.asks:
                going.counted = before.grown(after)[:FIRST]
                going.cuts |= after.can_cut

    def _choose(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        indices = real(*args, **kwargs)
        going = self._going.get(id(args[0]))
        if going is not None and self._fence.is_ours and not going.stream:
            with self._fence.around("samples"):
                marks = samples.marks(indices, ALL)
                going.indices += marks[: max(0, FIRST - len(going.indices))]
                if going.kind not in TORCHS:
                    choosing.choose(going, marks)
                going.given += len(marks)
        return indices

    def _fetch(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        """Note, in a worker that this rank forked, whether the data set draws random numbers."""
        if os.getpid() == self._fence.process or self._fetches >= LOOKED:
            return real(*args, **kwargs)
        self._fetches += 1
        before = _states()
        found = real(*args, **kwargs)
        with suppress(Exception):
            after = _states()
            drawn = {kind: state for kind, state in before.items() if after.get(kind) != state}
            self._tell(drawn)
        return found

    def _tell(self, drawn: dict[str, int]) -> None:
        info = torch.utils.data.get_worker_info()
        if info is None or not drawn:
            return
        name = f"drawn-{self._report.rank}-{os.getpid()}.json"
        path = self._folder / name
        if not path.exists():
            path.write_text(json.dumps({"number": info.id, "drawn": drawn}))


def _states() -> dict[str, int]:
    """Return the state of each random generator of this process, as a checksum."""
    found = {
        "torch": zlib.crc32(torch.get_rng_state().numpy().tobytes()),
        "random": zlib.crc32(repr(random.getstate()).encode()),
    }
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        state = numpy.random.get_state()
        found["numpy"] = zlib.crc32(state[1].tobytes() + str(state[2]).encode())
    return found


def _library() -> str:
    """Return the library that iterates a loader, by the modules on the stack; "" if none does."""
    frame = sys._getframe(1)
    while frame is not None:
        if known := LIBRARIES.get(frame.f_globals.get("__name__", "")):
            return known
        frame = frame.f_back
    return ""


def _length(sized: object) -> int:
    with suppress(Exception):  # of the script's own code, or since a stream has none
        return len(sized) if isinstance(sized, Sized) else 0
    return 0
