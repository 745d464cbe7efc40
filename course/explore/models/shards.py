"""Which lines of a stream of files each reader reads, and which batches each rank gets."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from course.core import CourseError

NOBODY, RANKS, FILES, PARTS = "nobody", "ranks", "readers, whole files", "readers, parts of files"
WAYS = (NOBODY, RANKS, FILES, PARTS)
NAMES = "abcdef"  # of the files
SIZES = (12, 9, 6, 12, 4, 10)  # lines of each; the first four are those of lab 04d
BATCH = 3  # lines

Line = tuple[int, int]  # the index of its file, and its index in the file


@dataclass(frozen=True)
class Reading:
    """The readers of each line of files of these `sizes`, and the resulting batches."""

    sizes: tuple[int, ...]
    readers: Mapping[Line, tuple[int, ...]]  # the rank of each reader that read the line
    batches: tuple[int, ...] = ()  # the number that each rank gets; () if only the reads are known
    idle: int = 0  # readers that have nothing to read
    left: frozenset[Line] = frozenset()  # lines that no rank trains on if all stop together

    @property
    def lines(self) -> list[Line]:
        """All lines of the files."""
        return [(file, line) for file, size in enumerate(self.sizes) for line in range(size)]

    def times(self, line: Line) -> int:
        """How often a line is read."""
        return len(self.readers.get(line, ()))


def read(way: str, files: int, ranks: int, workers: int) -> Reading:
    """Let `ranks` with `workers` loader workers each (0: the rank itself reads) read `files` files.

    Raises `CourseError` for impossible numbers.
    """
    if not 1 <= files <= len(SIZES) or ranks < 1 or workers < 0:
        raise CourseError(f"A stream needs 1 to {len(SIZES)} files, a rank, and no fewer workers.")
    sizes = SIZES[:files]
    shares = [
        [_share(way, sizes, rank, worker, ranks, max(workers, 1)) for worker in range(workers or 1)]
        for rank in range(ranks)
    ]
    readers: dict[Line, list[int]] = {}
    for rank, worker_shares in enumerate(shares):
        for line in (line for share in worker_shares for line in share):
            readers.setdefault(line, []).append(rank)
    delivered = [_batches(worker_shares) for worker_shares in shares]
    steps = min(map(len, delivered))
    trained = {line for batches in delivered for batch in batches[:steps] for line in batch}
    return Reading(
        sizes,
        {line: tuple(of_line) for line, of_line in readers.items()},
        tuple(map(len, delivered)),
        sum(not share for worker_shares in shares for share in worker_shares),
        frozenset(readers.keys() - trained),
    )


def _share(
    way: str, sizes: tuple[int, ...], rank: int, worker: int, ranks: int, workers: int
) -> list[Line]:
    """The lines that one worker of a rank reads."""
    reader, readers = worker * ranks + rank, ranks * workers
    first, step = {NOBODY: (0, 1), RANKS: (rank, ranks)}.get(way, (reader, readers))
    parts = math.ceil(readers / len(sizes)) if way == PARTS else 1
    pieces = [(file, part) for file in range(len(sizes)) for part in range(parts)]
    return [
        (file, line)
        for file, part in pieces[first::step]
        for line in range(part, sizes[file], parts)
    ]


def _batches(worker_shares: list[list[Line]]) -> list[list[Line]]:
    """A loader's batches: workers take turns, and one that has run out is skipped."""
    worker_batches = [
        [share[first : first + BATCH] for first in range(0, len(share), BATCH)]
        for share in worker_shares
    ]
    turns = range(max(map(len, worker_batches)))
    return [batches[turn] for turn in turns for batches in worker_batches if turn < len(batches)]


def measured(rows: Iterable[Mapping[str, object]]) -> Reading:
    """What a run read, from rows with the `file`, the `line`, and the `rank` that got it.

    Files are named as in `NAMES`. Raises `CourseError` if there is no such row.
    """
    readers: dict[Line, list[int]] = {}
    for row in rows:
        if row.get("file") in tuple(NAMES):
            line = NAMES.index(row["file"]), int(row["line"])
            readers.setdefault(line, []).append(int(row["rank"]))
    if not readers:
        raise CourseError(
            "No row says which line was read: run a script of lab 04d, and give its metrics."
        )
    files = 1 + max(file for file, _ in readers)
    sizes = (
        max(SIZES[file], *(1 + line for owner, line in readers if owner == file), 0)
        for file in range(files)
    )
    return Reading(
        tuple(sizes), {line: tuple(sorted(of_line)) for line, of_line in readers.items()}
    )
