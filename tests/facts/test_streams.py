"""What the course says about streams: iterable data sets of torch and of `datasets`."""

import inspect
import json
import logging
import subprocess
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import datasets
import pytest
import torch.distributed as dist
from datasets.distributed import split_dataset_by_node
from support.says import says
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

LESSON = "04d_streaming"
RELEASE = tuple(map(int, datasets.__version__.split(".")[:2]))


class Stream(IterableDataset):
    """Yields who reads it: the worker, whether that has a process group, and its `epoch`."""

    epoch = 0

    def __iter__(self):
        info = get_worker_info()
        for number in range(6):
            worker = None if info is None else info.id
            yield {
                "worker": worker,
                "group": dist.is_initialized(),
                "epoch": self.epoch,
                "n": number,
            }


def loader(stream: IterableDataset, workers: int = 2, how: str = "fork", **options) -> DataLoader:
    """A loader of lists, whose workers are started by the method `how`."""
    context = how if workers else None
    options = {"batch_size": 2, "collate_fn": list, "multiprocessing_context": context} | options
    return DataLoader(stream, num_workers=workers, **options)


def test_every_worker_reads_all_of_it():
    says(LESSON, "its own copy")
    read = Counter(sample["n"] for batch in loader(Stream()) for sample in batch)
    assert read == dict.fromkeys(range(6), 2)


def test_who_reads_is_known_only_in_a_worker():
    says(LESSON, "`get_worker_info()`", "`num_workers`")
    assert {sample["worker"] for batch in loader(Stream(), workers=0) for sample in batch} == {None}
    assert {sample["worker"] for batch in loader(Stream()) for sample in batch} == {0, 1}


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_only_a_forked_worker_has_a_process_group(group_of_one, how):
    says(LESSON, "`forkserver`", "Python 3.14")
    assert dist.is_initialized()
    (first, *_) = loader(Stream(), workers=1, how=how)
    assert first[0]["group"] == (how == "fork")


@pytest.mark.skipif(sys.platform != "linux", reason="the sentence is about Linux")
def test_how_workers_are_started_by_default():
    says(LESSON, "Python 3.14")
    ask = "import multiprocessing; print(multiprocessing.get_start_method())"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ("forkserver" if sys.version_info >= (3, 14) else "fork")


def test_a_loader_reads_two_batches_ahead_of_each_worker():
    says(LESSON, "two batches per worker")
    assert DataLoader(Stream(), num_workers=1).prefetch_factor == 2


def test_a_batch_is_of_one_worker_and_worker_0_begins():
    says(LESSON, "single worker", "worker 0")
    workers = [{sample["worker"] for sample in batch} for batch in loader(Stream())]
    assert workers == [{0}, {1}] * 3


def test_persistent_workers_keep_the_first_copy():
    says(LESSON, "`persistent_workers=True`")
    for keep in (True, False):
        stream = Stream()
        batches = loader(stream, persistent_workers=keep)
        list(batches)
        stream.epoch = 1
        assert {sample["epoch"] for batch in batches for sample in batch} == {0 if keep else 1}


@pytest.fixture
def files(tmp_path) -> list[str]:
    """Four files of 12, 9, 6 and 12 lines."""
    numbers = iter(range(39))
    for name, size in {"a": 12, "b": 9, "c": 6, "d": 12}.items():
        text = "".join(json.dumps({"n": next(numbers)}) + "\n" for _ in range(size))
        Path(tmp_path, f"{name}.jsonl").write_text(text)
    return sorted(map(str, tmp_path.glob("*.jsonl")))


def stream_of(files: list[str]) -> datasets.IterableDataset:
    return datasets.load_dataset("json", data_files=files, split="train", streaming=True)


def numbers(samples) -> list[int]:
    return [sample["n"] for sample in samples]


def through(stream, workers: int = 2, **options) -> list[int]:
    """The numbers of a stream, read through a loader."""
    return numbers(chain.from_iterable(loader(stream, workers, **options)))


def test_loader_workers_share_a_stream_of_datasets(files):
    says(LESSON, "*shards*")
    assert stream_of(files).num_shards == 4
    assert sorted(through(stream_of(files))) == list(range(39))


@pytest.mark.parametrize("workers", [0, 2])
def test_whole_files_are_dealt_where_their_number_divides(files, workers):
    says(LESSON, "`num_shards`", "18 and 21 pairs")
    shares = [through(split_dataset_by_node(stream_of(files), rank, 2), workers) for rank in (0, 1)]
    assert sorted(shares[0]) == [*range(12), *range(21, 27)]
    assert sorted(shares[1]) == [*range(12, 21), *range(27, 39)]


def test_otherwise_each_rank_works_on_all_and_keeps_every_nth(files):
    says(LESSON, "every N-th sample")
    worked: list[int] = []

    def work(sample):
        worked.append(sample["n"])
        return sample

    split = split_dataset_by_node(stream_of(files[:3]), 0, 2)
    assert numbers(split.map(work)) == list(range(0, 27, 2))
    assert worked == list(range(27))


def test_the_way_can_be_chosen_since_5_2():
    says(LESSON, "`datasets` 5.2", '`strategy="shards"`')
    there = "strategy" in inspect.signature(split_dataset_by_node).parameters
    assert there == (RELEASE >= (5, 2))


def test_workers_without_a_file_are_idle(files, tmp_path, monkeypatch):
    says(LESSON, "idle")
    log = logging.FileHandler(tmp_path / "warnings.log")  # forked workers write there, too
    monkeypatch.setattr(logging.getLogger("datasets"), "handlers", [log])
    stream = stream_of(files[:1])
    mapped = stream.map(lambda sample: sample | {"worker": get_worker_info().id})
    for rank in (1, 0):
        own = split_dataset_by_node(mapped, rank, 2)
        assert {sample["worker"] for batch in loader(own) for sample in batch} == {0}
        warned = "Too many dataloader workers: 2" in (tmp_path / "warnings.log").read_text()
        assert warned == (rank == 0)
    log.close()


def test_shuffling_needs_the_same_seed_on_all_ranks(files):
    says(LESSON, "`seed`")

    def shares(seeds):
        streams = [stream_of(files).shuffle(seed=seed, buffer_size=4) for seed in seeds]
        return [
            numbers(split_dataset_by_node(stream, rank, 2)) for rank, stream in enumerate(streams)
        ]

    equal, unequal = shares([1, 1]), [shares([1, seed]) for seed in range(2, 8)]
    assert sorted(chain(*equal)) == list(range(39))
    assert equal[0] != sorted(equal[0])
    assert any(set(first) & set(second) for first, second in unequal)


@pytest.mark.parametrize("keep", [True, False])
def test_its_epoch_reaches_the_workers(files, keep):
    says(LESSON, "`set_epoch(epoch)`", "common memory")
    stream = stream_of(files).shuffle(seed=0, buffer_size=4)
    batches = loader(stream, persistent_workers=keep)
    first = numbers(chain.from_iterable(batches))
    stream.set_epoch(1)
    second = numbers(chain.from_iterable(batches))
    assert first != second and sorted(first) == sorted(second) == list(range(39))


def test_its_state_is_the_place_in_a_file(files):
    says(LESSON, "`state_dict()`")
    stream, again = stream_of(files), stream_of(files)
    begun = iter(stream)
    assert [next(begun)["n"] for _ in range(15)] == list(range(15))
    again.load_state_dict(stream.state_dict())
    assert numbers(again) == list(range(15, 39))


def test_what_lay_in_the_buffer_is_lost_since_5_1_mostly(tmp_path):
    says(LESSON, "release 5.1")
    files = []
    for file in range(4):
        rows = [json.dumps({"n": 100 * file + row}) for row in range(100)]
        files.append(tmp_path / f"{file}.jsonl")
        files[-1].write_text("\n".join(rows))

    def stream():
        dataset = datasets.load_dataset("json", data_files=list(map(str, files)), streaming=True)
        return dataset["train"].shuffle(seed=0, buffer_size=20)

    stopped, continued = stream(), stream()
    samples = iter(stopped)
    before = [next(samples)["n"] for _ in range(100)]
    continued.load_state_dict(stopped.state_dict())
    after = [sample["n"] for sample in continued]
    lost = set(range(400)) - {*before, *after}
    twice = {*before} & {*after}
    if RELEASE < (5, 1):
        assert (len(lost), len(twice)) == (20, 0)
    else:
        assert 0 < len(twice) < len(lost) < 20


def test_with_workers_the_rank_does_not_see_the_place(files):
    stream = stream_of(files)
    before = stream.state_dict()
    batches = iter(loader(stream))
    next(batches), next(batches)
    assert stream.state_dict() == before
