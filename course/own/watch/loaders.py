"""On a rank: when the script's DataLoaders are started, and what they give."""

from collections.abc import Callable, Sized
from contextlib import suppress

from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SequentialSampler
from torch.utils.data import dataloader as torchs

from course.core import insides
from course.own.watch import samples, timeline
from course.own.watch.recorder import Recorder

PLAIN = (RandomSampler, SequentialSampler)  # the samplers that a loader uses if it is given none


class LoaderHooks:
    """Watches every DataLoader of the script."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._facts: dict[int, timeline.Loader] = {}  # by loader
        self._draws: dict[int, int] = {}  # by loader
        self._loaders: dict[int, int] = {}  # by iterator

    def install(self, between: Callable) -> None:
        """Begin to watch; `between` steps between callers and functions."""
        iterators = insides.inside(torchs, "_BaseDataLoaderIter")
        between(self._draw, ("__next__",), iterators)
        between(self._choose, ("_next_index",), iterators)
        between(self._open, ("__iter__",), DataLoader)

    def look(self, see: Callable, batch: object) -> None:
        """Pass the checksums of a batch's samples to `see`."""
        with self._recorder.during("watching"), suppress(RuntimeError, TypeError):  # odd tensors
            see(samples.rows(batch))

    def _open(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        loader, recorder = args[0], self._recorder
        with recorder.during("input"):
            iterator = real(*args, **kwargs)
        if recorder.listening:
            recorder.opened(iterator, _length(loader.dataset))
            self._loaders[id(iterator)] = id(loader)
            facts = self._facts.setdefault(id(loader), _facts(loader))
            facts.opened += recorder.warm
        return iterator

    def _draw(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        with self._recorder.during("input"):
            batch = real(*args, **kwargs)
        if self._recorder.listening:
            self._count(args[0])
            self.look(lambda rows: self._recorder.drew(args[0], rows), batch)
        self._recorder.turn("loader")
        return batch

    def _count(self, iterator: object) -> None:
        """Count a batch, and report the loader that gives most of them."""
        loader = self._loaders.get(id(iterator))
        if loader is not None:
            self._draws[loader] = self._draws.get(loader, 0) + 1
            most = max(self._draws, key=self._draws.__getitem__)
            self._recorder.report.script.loader = self._facts[most]

    def _choose(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        indices = real(*args, **kwargs)
        self._recorder.chose(samples.marks(indices))
        return indices


def _facts(loader: DataLoader) -> timeline.Loader:
    sampler = getattr(loader.batch_sampler, "sampler", loader.sampler)
    known = "" if sampler is None or isinstance(sampler, PLAIN) else type(sampler).__name__
    stream = isinstance(loader.dataset, IterableDataset)
    return timeline.Loader(
        batches=_length(loader),
        workers=loader.num_workers,
        persistent=loader.persistent_workers,
        pinned=bool(loader.pin_memory),
        stream=stream,
        sampler="" if stream else known,
        batch_sampler=not stream and loader.batch_size is None and loader.batch_sampler is not None,
    )


def _length(sized: object) -> int:
    """The length of a data set or a loader; 0 if it has none."""
    with suppress(Exception):  # of the script's own code, or since a stream has none
        return len(sized) if isinstance(sized, Sized) else 0
    return 0
