"""Checks of my_shards: a stream that ranks and loader workers share, on real ranks and workers."""

from collections import Counter
from collections.abc import Iterable

from course.checks.lab_04d import on_rank_my_shards as on_rank
from course.checks.lab_04d.on_rank_my_shards import Line, Read
from course.checks.tools.hint import Failure, Undecided, hint
from course.core import words

MANY, FEW, ONE = [7, 1, 12, 5, 3, 9, 4, 2, 6], [8, 17], [23]  # lines of each file
# Files, ranks, loader workers of each rank.
SETTINGS = ((MANY, 2, 0), (MANY, 2, 2), (FEW, 3, 1), (FEW, 2, 3), (ONE, 4, 0))


class TestMyShards:
    """Exercise 1: a stream that ranks and loader workers share."""

    @hint("Print the number of every reader, and the pieces that it takes.")
    def test_each_line_once(self, ranks, tmp_path):
        """All readers together read each line of an epoch once: 2 to 4 ranks with 0 to 3 workers,
        with many files, with fewer than readers, and with one; three epochs.
        """
        for number, (sizes, world_size, workers) in enumerate(SETTINGS):
            results = ranks(
                world_size, on_rank.read, str(tmp_path / str(number)), sizes, workers, [0, 1, 2]
            )
            for epoch, of_ranks in enumerate(zip(*results, strict=True)):
                where = f"{_setting(sizes, world_size, workers)}, epoch {epoch}"
                _once(_lines(of_ranks), sizes, where)

    @hint("Deal whole files as long as there is one for each reader, and cut them only otherwise.")
    def test_pieces(self, ranks, tmp_path):
        """With a file for each reader no file is read by two; with fewer files no reader is idle.
        Each line says which reader it is from.
        """
        for number, (sizes, world_size, workers) in enumerate(SETTINGS[1:4]):
            results = ranks(
                world_size, on_rank.read, str(tmp_path / str(number)), sizes, workers, [0]
            )
            where = _setting(sizes, world_size, workers)
            readers = world_size * max(workers, 1)
            by_reader: dict[int, set[str]] = {}
            of_rank: dict[int, int] = {}
            for rank, (batches,) in enumerate(results):
                for reader, lines in batches:
                    if reader not in range(readers):
                        raise Failure(
                            f"{where}: a batch is not of one reader from 0 to {readers - 1}"
                        )
                    if of_rank.setdefault(reader, rank) != rank:
                        raise Failure(
                            f"{where}: ranks {of_rank[reader]} and {rank} both have a reader "
                            f"{reader}"
                        )
                    by_reader.setdefault(reader, set()).update(file for file, _ in lines)
            idle = sorted(set(range(readers)) - set(by_reader))
            assert not idle, f"{where}: reader {idle[0]} has nothing to read"
            if len(sizes) >= readers:
                opened = Counter(file for files in by_reader.values() for file in files)
                file, count = opened.most_common(1)[0]
                assert count == 1, f"{where}: file {file} is read by {count} readers"

    @hint("The order depends on the seed and on the epoch, and on nothing else.")
    def test_epochs(self, ranks, tmp_path):
        """The order of the files changes from epoch to epoch and with the seed, and is the same
        each time an epoch is read.
        """
        epochs = [0, 1, 2, 3, 0]
        read = ranks(1, on_rank.read, str(tmp_path / "one"), MANY, 0, epochs)[0]
        first = list(map(_order, read))
        read = ranks(1, on_rank.read, str(tmp_path / "other"), MANY, 0, epochs, seed=7)[0]
        other = list(map(_order, read))
        assert first[0] == first[4], "epoch 0 has another order when it is read once more"
        distinct = {tuple(order) for order in first}
        assert len(distinct) == 4, f"epochs 0, 1, 2 and 3 have {len(distinct)} different orders"
        assert other[:4] != first[:4], "with another seed the files come in the same order"

    @hint(
        "By what is shuffled that all processes know alike? Python makes the hash of a text with a "
        "number that differs in every process."
    )
    def test_same_order(self, alone):
        """Processes that share nothing make the same pieces in the same order, in three epochs."""
        settings = [(9, 4), (2, 5)]
        of_two = (alone(on_rank.pieces, settings, salt=salt) for salt in (1, 2))
        for (files, readers), *epochs in zip(settings, *of_two, strict=True):
            for epoch, (one, other) in enumerate(zip(*epochs, strict=True)):
                assert one == other, (
                    f"{words.plural(files, 'file')}, {readers} readers, epoch {epoch}: in the same "
                    f"place one process has {_first(one, other)}, another {_first(other, one)}"
                )

    @hint("A worker that was started by `spawn` has no process group. What does its stream know?")
    def test_without_group(self, alone):
        """A reader knows its number where there is no process group, from its stream."""
        readers = alone(on_rank.unconnected, 3)
        assert sorted(readers) == [(number, 3) for number in range(3)], (
            "where `dist` is not initialized, reader() of ranks 0, 1 and 2 of 3 says "
            f"{', '.join(map(str, readers))}"
        )

    @hint(
        "What has been trained on is not read again, and what was only read ahead is. When a run "
        "that was continued is stopped, `done` has what both have trained on."
    )
    def test_resume(self, ranks, tmp_path):
        """Stopped twice in the middle of a file and each time continued by a new stream, all have
        each line of an epoch once: 2 ranks with 0, 2 and 3 workers, stopped after 0, 1, 4 and 6
        batches.
        """
        stops = [0, 1, 4, 6]
        for number, (sizes, workers) in enumerate(((MANY, 0), (MANY, 2), (FEW, 3))):
            results = ranks(2, on_rank.resumed, str(tmp_path / str(number)), sizes, workers, stops)
            if _faults(_lines(after for ((_, after, _), *_) in results), sizes):
                raise Undecided("first, all readers together must read each line once")
            for at, of_ranks in zip(stops, zip(*results, strict=True), strict=True):
                batches = words.plural(at, "batch")
                where = f"{_setting(sizes, 2, workers)}, stopped twice, each time after {batches}"
                for rank, (before, _, done) in enumerate(of_ranks):
                    _counted(before, done, f"{where}: rank {rank}")
                reads = (read for before, after, _ in of_ranks for read in (before, after))
                _once(_lines(reads), sizes, where)

    @hint("All ranks must make the same number of calls, also those that have nothing left.")
    def test_together(self, ranks):
        """The ranks get equally many batches, the first ones of each rank in order, on 2 and 3
        ranks; nothing is read further ahead than one batch.
        """
        rounds = [[5, 3, 4], [2, 2, 2], [0, 3, 1], [1, 6, 6], [4, 4, 2]]
        for world_size in (2, 3):
            counts = [round_[:world_size] for round_ in rounds]
            for rank, result in enumerate(ranks(world_size, on_rank.together, counts)):
                for round_, (got, ahead) in zip(counts, result, strict=True):
                    fewest = min(round_)
                    assert len(got) == fewest, (
                        f"the ranks have {round_} batches, and rank {rank} gets {len(got)}"
                    )
                    expected = [(rank, number) for number in range(fewest)]
                    assert got == expected, f"of batches 0 to {fewest}, rank {rank} gets {got}"
                    assert ahead <= 1, (
                        f"rank {rank} has taken {ahead} batches that no step has used"
                    )


def _setting(sizes: list[int], world_size: int, workers: int) -> str:
    readers = words.plural(workers, "worker") if workers else "no workers"
    return f"{words.plural(len(sizes), 'file')}, {world_size} ranks with {readers}"


def _first(one: list, other: list) -> tuple:
    """The first piece of `one` that `other` has not in the same place."""
    return next((a for a, b in zip(one, other, strict=False) if a != b), one[-1])


def _lines(reads: Iterable[Read]) -> list[Line]:
    return [line for read in reads for _, lines in read for line in lines]


def _order(read: Read) -> list[str]:
    """The files in the order in which they are begun."""
    return list(dict.fromkeys(file for _, lines in read for file, _ in lines))


def _faults(lines: list[Line], sizes: list[int]) -> str:
    """What is wrong, if these are not the lines of the files, each once; else nothing."""
    reads = Counter(lines)
    expected = [(f"{number:02}", line) for number, size in enumerate(sizes) for line in range(size)]
    for file, line in expected:
        if reads[file, line] != 1:
            return f"line {line} of file {file} is read {reads[file, line]} times"
    strange = reads.keys() - set(expected)
    return f"{min(strange)} is not a line of the files" if strange else ""


def _once(lines: list[Line], sizes: list[int], where: str) -> None:
    """Fail unless these are the lines of the files, each once."""
    wrong = _faults(lines, sizes)
    assert not wrong, f"{where}: {wrong}"


def _counted(before: Read, done: dict[int, int], who: str) -> None:
    """Fail unless `done` counts the lines that were trained on, by reader."""
    trained: Counter[int] = Counter()
    for reader, lines in before:
        trained[reader] += len(lines)
    for reader in trained | Counter(done):
        assert done.get(reader, 0) == trained[reader], (
            f"{who} has trained on {trained[reader]} lines of reader {reader}, "
            f"and `done` has {done.get(reader, 0)}"
        )
