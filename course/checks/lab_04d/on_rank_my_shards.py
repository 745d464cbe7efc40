"""What the checks of my_shards do on each rank."""

import importlib
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch.distributed as dist
from torch.utils.data import DataLoader

from course.checks.lab_04b.on_rank_clinic import impatient

BATCH = 3
Line = tuple[str, int]  # the name of its file, and its number there
Read = list[tuple[int, list[Line]]]  # batches in order: which reader's lines, and which lines


def _stream(files: list[Path], seed: int = 0) -> Any:
    """The learner's stream of these files, as this rank makes it."""
    module = importlib.import_module("my_shards")
    return module.Stream(list(files), dist.get_rank(), dist.get_world_size(), seed=seed)


def _written(folder: str, sizes: list[int]) -> list[Path]:
    """Files of these sizes in lines, written by rank 0; a line has its file and its number."""
    files = [Path(folder, f"{number:02}.jsonl") for number in range(len(sizes))]
    if dist.get_rank() == 0:
        Path(folder).mkdir()
        for file, size in zip(files, sizes, strict=True):
            rows = ({"file": file.stem, "line": line} for line in range(size))
            file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    dist.barrier()
    return files


def _batches(stream: Any, workers: int) -> Iterator[dict]:
    """What a loader makes of the stream; its workers are forked, since that is fast."""
    how = "fork" if workers else None
    return iter(DataLoader(stream, BATCH, num_workers=workers, multiprocessing_context=how))


def _read(batch: dict) -> tuple[int, list[Line]]:
    """Whose lines a batch has, -1 if of several readers, and which these are."""
    readers = set(batch["reader"].tolist())
    lines = zip(batch["file"], batch["line"].tolist(), strict=True)
    return readers.pop() if len(readers) == 1 else -1, [tuple(line) for line in lines]


def read(
    folder: str, sizes: list[int], workers: int, epochs: list[int], seed: int = 0
) -> list[Read]:
    """This rank's batches of each of the epochs, of one stream that goes from one to the next.

    It is a stream of files of these sizes in lines, written to a new `folder`.
    """
    stream, results = _stream(_written(folder, sizes), seed), []
    for epoch in epochs:
        stream.at(epoch, {})
        results.append([_read(batch) for batch in _batches(stream, workers)])
    return results


def resumed(
    folder: str, sizes: list[int], workers: int, stops: list[int]
) -> list[tuple[Read, Read, dict]]:
    """For each stop: the batches that two streams trained on before they were stopped, those of a
    third one, and `done` in between.

    A stream gets the `done` of the one before. Its loader has read ahead, as a loader does.
    """
    files, results = _written(folder, sizes), []
    for stop in stops:
        before, done = [], {}
        for _ in range(2):
            stream = _stream(files)
            stream.at(1, done)
            for batch in itertools.islice(_batches(stream, workers), stop):
                stream.trained(batch)
                before.append(_read(batch))
            done = {int(reader): int(lines) for reader, lines in stream.done.items()}
        last = _stream(files)
        last.at(1, done)
        results.append((before, [_read(batch) for batch in _batches(last, workers)], done))
    return results


def unconnected(ranks: int) -> list[tuple[int, int]]:
    """What each of that many ranks reports about its reader without a process group."""
    module = importlib.import_module("my_shards")
    streams = [module.Stream([Path("00.jsonl")] * ranks, rank, ranks) for rank in range(ranks)]
    return [tuple(map(int, stream.reader())) for stream in streams]


def pieces(settings: list[tuple[int, int]]) -> list[list[list[tuple[str, int, int]]]]:
    """For each setting (files, readers) the pieces of three epochs; the files need not be there."""
    module, results = importlib.import_module("my_shards"), []
    for files, readers in settings:
        stream = module.Stream([Path(f"{number:02}.jsonl") for number in range(files)], 0, 1)
        results.append([])
        for epoch in range(3):
            stream.at(epoch, {})
            pieces = stream.pieces(readers)
            results[-1].append([(str(file), int(part), int(parts)) for file, part, parts in pieces])
    return results


class BatchCounter:
    """The batches ``(rank, number)`` of one rank; it counts how many were taken."""

    def __init__(self, count: int) -> None:
        self.count, self.taken = count, 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for number in range(self.count):
            self.taken += 1
            yield dist.get_rank(), number


def together(counts: list[list[int]]) -> list[tuple[list[tuple[int, int]], int]]:
    """What this rank gets in each round, in which rank r has ``round[r]`` batches.

    Also, for each round, how many batches were taken at most beyond the one that is trained on.
    The ranks meet after each batch, as in a training step.
    """
    module: ModuleType = importlib.import_module("my_shards")
    results = []
    for round_ in counts:
        batches, got, ahead = BatchCounter(round_[dist.get_rank()]), [], 0
        with impatient():
            for batch in module.together(batches):
                none = f"together() yields None on rank {dist.get_rank()}, which has nothing left"
                assert batch is not None, none
                dist.barrier()
                got.append(tuple(batch))
                ahead = max(ahead, batches.taken - len(got))
        results.append((got, ahead))
    return results
