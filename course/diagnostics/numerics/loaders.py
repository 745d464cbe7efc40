"""On a rank: watch the script's DataLoaders, their samplers, and the workers' random numbers."""

import builtins
import json
import os
import random
import sys
import weakref
import zlib
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, RandomSampler

from course.diagnostics.numerics import sample_choice
from course.diagnostics.numerics.context import RankContext
from course.diagnostics.numerics.loop_counters import Counts, counts
from course.diagnostics.numerics.training import Evaluation, LoaderPass
from course.diagnostics.watch import frames, samples
from course.diagnostics.watch.hook_set import Args, Around, Function, HookSet, Kwargs
from course.diagnostics.watch.loader_facts import length, sampler_of

MAX_INDICES = 64  # indices that are kept from each pass
MAX_BATCHES = 8  # batches of a pass whose samples are kept
MAX_PASSES = 64  # passes that are kept from a run
MAX_FETCHES = 2  # batches of a worker that are watched for random numbers
ALL = 2**20  # samples of a batch: more than any batch has
TORCH_SAMPLERS = ("RandomSampler", "SequentialSampler", "DistributedSampler",
                  "WeightedRandomSampler")  # fmt: skip
FRAMEWORKS = {"accelerate.data_loader": "accelerate", "transformers.trainer": "Trainer"}


class Loaders:
    """Watches every DataLoader until the script ends; workers write to `folder`."""

    def __init__(self, context: RankContext, folder: Path) -> None:
        self._report, self._lines, self._fence = context
        self._folder = folder
        self._made: dict[int, str] = {}
        self._numbers: dict[int, tuple[weakref.ref[Any], int]] = {}  # loaders and samplers
        self._count = self._fetches = 0
        self._by_iterator: dict[int, LoaderPass] = {}
        self._last: LoaderPass | None = None
        self._counts: dict[int, Counts] = {}  # by loader pass: before it

    def install(self, hooks: HookSet) -> None:
        """Install the hooks."""
        hooks.around(self._print, ("print",), builtins)
        hooks.around(self._make, ("__init__",), DataLoader)
        hooks.loaders(self._open, self._draw, self._choose)
        fetchers = sys.modules.get("torch.utils.data._utils.fetch")
        for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
            if hasattr(fetchers, name):
                hooks.around(self._fetch, ("fetch",), getattr(fetchers, name))
        for name, class_name, method, ours in (
            ("accelerate.data_loader", "DataLoaderStateMixin", "end", self._end),
            ("accelerate.accelerator", "Accelerator", "gather_for_metrics", self._gather),
        ):
            hooks.on_import(name, partial(_hook_method, hooks, ours, class_name, method))

    def note_training(self) -> None:
        """Note that a backward pass begins, which uses the batch drawn last."""
        if self._last is not None:
            self._last.batches += 1
            self._last = None

    def note_inference(self) -> None:
        """Note that a model is called without gradients, which uses the batch drawn last."""
        if self._last is not None:
            self._last.evaluation.calls += 1

    @property
    def evaluation(self) -> Evaluation | None:
        """The evaluation that uses the batch drawn last, if there is one."""
        last = self._last
        return last.evaluation if last is not None and last.evaluation.calls else None

    def note_report(self) -> None:
        """Note that the script prints or writes something, maybe the result of an evaluation."""
        last = self._last
        if last is not None and last.is_over and last.evaluation.calls:
            last.evaluation.reports += 1

    def _print(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> None:
        if self._fence.is_ours:
            self.note_report()
        real(*args, **kwargs)

    def _make(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> None:
        real(*args, **kwargs)
        if self._fence.is_ours:
            with self._fence.around("loaders"):
                self._made[id(args[0])] = self._lines.here()

    def _open(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        iterator = real(*args, **kwargs)
        if self._fence.is_ours and len(self._report.loader_passes) < MAX_PASSES:
            with self._fence.around("loaders"):
                loader_pass = self._describe(args[0])
                self._report.loader_passes.append(loader_pass)
                self._by_iterator[id(iterator)] = loader_pass
                if before := counts(sys._getframe(1), self._lines.is_own):
                    self._counts[id(loader_pass)] = before
        return iterator

    def _describe(self, loader: DataLoader[Any]) -> LoaderPass:
        stream = isinstance(loader.dataset, IterableDataset)
        sampler = sampler_of(loader)
        loader_pass = LoaderPass(
            self._number(loader),
            self._number(loader if sampler is None or stream else sampler),
            "" if stream or sampler is None else type(sampler).__name__,
            self._made.get(id(loader), ""),
            length(loader.dataset),
            opened_at=self._lines.here(),
            stream=stream,
            workers=loader.num_workers,
            framework=_framework(),
        )
        if isinstance(sampler, DistributedSampler):
            loader_pass.divided_twice = type(loader.batch_sampler).__name__ == "BatchSamplerShard"
            loader_pass.epoch, loader_pass.seed = sampler.epoch, sampler.seed
            loader_pass.rank, loader_pass.replicas = sampler.rank, sampler.num_replicas
            loader_pass.shuffles, loader_pass.total = sampler.shuffle, sampler.total_size
        if isinstance(sampler, RandomSampler):
            loader_pass.shuffles, loader_pass.replaces = True, sampler.replacement
        return loader_pass

    def _number(self, source: object) -> int:
        entry = self._numbers.get(id(source))
        if entry is None or entry[0]() is not source:
            self._count += 1
            entry = self._numbers[id(source)] = weakref.ref(source), self._count
        return entry[1]

    def _draw(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        loader_pass = self._by_iterator.get(id(args[0]))
        try:
            batch = real(*args, **kwargs)
        except StopIteration:
            if loader_pass is not None:
                loader_pass.is_over = True
                self._note_counts(loader_pass)
            raise
        if loader_pass is not None and self._fence.is_ours:
            self._last = loader_pass
            loader_pass.drawn += 1
            with self._fence.around("samples"):
                if len(loader_pass.samples) < MAX_BATCHES:
                    loader_pass.samples.append(samples.rows(batch))
                if loader_pass.stream:
                    sample_choice.choose(loader_pass, samples.rows(batch, ALL))
                    loader_pass.given += 1
        return batch

    def _end(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        """Note the end of a pass with accelerate, which draws ahead: now the last batch is used."""
        if self._fence.is_ours:
            with self._fence.around("evaluation"):
                number = self._number(getattr(args[0], "base_dataloader", args[0]))
                passes = [
                    loader_pass
                    for loader_pass in self._report.loader_passes
                    if loader_pass.loader == number
                ]
                if passes and passes[-1].is_over:
                    self._note_counts(passes[-1])
        return real(*args, **kwargs)

    def _gather(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        if self._last is not None and self._fence.is_ours:
            self._last.evaluation.cuts = True
        return real(*args, **kwargs)

    def _note_counts(self, loader_pass: LoaderPass) -> None:
        """Note, at the end of a pass, how much the numbers of the loop's function have grown."""
        with self._fence.around("evaluation"):
            before = self._counts.get(id(loader_pass))
            after = counts(sys._getframe(1), self._lines.is_own)
            evaluation = loader_pass.evaluation
            if before and after and evaluation.calls:
                evaluation.counted = before.grown(after)[:MAX_INDICES]
                evaluation.cuts |= after.can_cut

    def _choose(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        indices = real(*args, **kwargs)
        loader_pass = self._by_iterator.get(id(args[0]))
        if loader_pass is not None and self._fence.is_ours and not loader_pass.stream:
            with self._fence.around("samples"):
                marks = samples.marks(indices, ALL)
                loader_pass.indices += marks[: max(0, MAX_INDICES - len(loader_pass.indices))]
                if loader_pass.kind not in TORCH_SAMPLERS:
                    sample_choice.choose(loader_pass, marks)
                loader_pass.given += len(marks)
        return indices

    def _fetch(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        """Note whether the data set draws random numbers, in a worker that this rank forked."""
        if os.getpid() == self._fence.process or self._fetches >= MAX_FETCHES:
            return real(*args, **kwargs)
        self._fetches += 1
        before = _generator_states()
        batch = real(*args, **kwargs)
        with suppress(Exception):
            after = _generator_states()
            drawn = {kind: state for kind, state in before.items() if after.get(kind) != state}
            self._write_drawn(drawn)
        return batch

    def _write_drawn(self, drawn: dict[str, int]) -> None:
        info = torch.utils.data.get_worker_info()
        if info is None or not drawn:
            return
        name = f"drawn-{self._report.rank}-{os.getpid()}.json"
        path = self._folder / name
        if not path.exists():
            path.write_text(json.dumps({"number": info.id, "drawn": drawn}))


def _generator_states() -> dict[str, int]:
    """A checksum of the state of each global random generator in this process."""
    states = {
        "torch": zlib.crc32(torch.get_rng_state().numpy().tobytes()),
        "random": zlib.crc32(repr(random.getstate()).encode()),
    }
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        state = numpy.random.get_state()
        states["numpy"] = zlib.crc32(state[1].tobytes() + str(state[2]).encode())
    return states


def _hook_method(
    hooks: HookSet, ours: Around, class_name: str, method: str, module: ModuleType
) -> None:
    """Wrap a method of the class `class_name`, if this release of the library has that class."""
    if hasattr(module, class_name):
        hooks.around(ours, (method,), getattr(module, class_name))


def _framework() -> str:
    """The framework on the stack that iterates the loader; "" if the script itself does."""
    stack = frames.modules(sys._getframe(1))
    return next((FRAMEWORKS[name] for name in stack if name in FRAMEWORKS), "")
