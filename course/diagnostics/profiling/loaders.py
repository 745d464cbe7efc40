"""On a rank: note when the script's DataLoaders are started, and which samples they return."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SequentialSampler

from course.diagnostics.profiling import timeline
from course.diagnostics.profiling.recorder import Recorder
from course.diagnostics.watch import samples
from course.diagnostics.watch.hook_set import Args, Function, HookSet, Kwargs
from course.diagnostics.watch.loader_facts import length, sampler_of

PLAIN = (RandomSampler, SequentialSampler)  # the samplers of a loader that was given none


class LoaderHooks:
    """Watches every DataLoader of the script."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._facts: dict[int, timeline.Loader] = {}  # by loader
        self._draws: dict[int, int] = {}  # by loader
        self._loaders: dict[int, int] = {}  # by iterator

    def install(self, hooks: HookSet) -> None:
        """Begin to watch, with these hooks."""
        hooks.loaders(self._open, self._draw, self._choose)

    def record_samples(self, record: Callable[[list[int]], None], batch: object) -> None:
        """Pass the checksums of a batch's samples to `record`."""
        # Some tensors have no checksum.
        with self._recorder.during("watching"), suppress(RuntimeError, TypeError):
            record(samples.rows(batch))

    def _open(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        loader, recorder = args[0], self._recorder
        with recorder.during("input"):
            iterator = real(*args, **kwargs)
        if recorder.listening:
            recorder.on_open(iterator, length(loader.dataset))
            self._loaders[id(iterator)] = id(loader)
            facts = self._facts.setdefault(id(loader), _facts(loader))
            facts.opened += recorder.warm
        return iterator

    def _draw(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        with self._recorder.during("input"):
            batch = real(*args, **kwargs)
        if self._recorder.listening:
            self._count(args[0])
            self.record_samples(partial(self._recorder.on_draw, args[0]), batch)
        self._recorder.tick("loader")
        return batch

    def _count(self, iterator: object) -> None:
        """Count a batch, and report the loader that has returned most batches."""
        loader = self._loaders.get(id(iterator))
        if loader is not None:
            self._draws[loader] = self._draws.get(loader, 0) + 1
            busiest = max(self._draws, key=self._draws.__getitem__)
            self._recorder.report.script.loader = self._facts[busiest]

    def _choose(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        indices = real(*args, **kwargs)
        self._recorder.on_choose(samples.marks(indices))
        return indices


def _facts(loader: DataLoader[Any]) -> timeline.Loader:
    sampler = sampler_of(loader)
    name = "" if sampler is None or isinstance(sampler, PLAIN) else type(sampler).__name__
    stream = isinstance(loader.dataset, IterableDataset)
    return timeline.Loader(
        batches=length(loader),
        workers=loader.num_workers,
        persistent=loader.persistent_workers,
        pinned=bool(loader.pin_memory),
        stream=stream,
        sampler="" if stream else name,
        batch_sampler=not stream and loader.batch_size is None and loader.batch_sampler is not None,
    )
