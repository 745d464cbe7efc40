"""A model of torch's caching allocator: how much memory of a GPU it reserves for given tensors.

The allocator takes segments from the GPU, cuts blocks from them, and keeps freed blocks for later.
So some memory between blocks is lost. The rules are torch's (c10/cuda/CUDACachingAllocator.cpp),
for its default settings and a single stream.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import NamedTuple

from course.core import words

MIN_BLOCK = 512  # sizes are rounded up to a multiple of this
SMALL = words.MIB  # blocks up to this size come from small segments
SMALL_SEGMENT, LARGE_SEGMENT = 2 * words.MIB, 20 * words.MIB
OWN_SEGMENT = 10 * words.MIB  # a new block of this size or more gets a segment for itself
ROUNDED_TO = 2 * words.MIB  # the size of such a segment is a multiple of this
PRECISION = 0.01  # of the search for the least memory, as a fraction of the tensors' peak


class OutOfMemoryError(Exception):
    """The GPU has no room for another segment, even after all free segments were returned."""


class Pool:
    """The segments for small blocks or for large ones, and their free pieces, by address."""

    def __init__(self, smallest_rest: int) -> None:
        self.smallest_rest = smallest_rest  # if less is left of a piece, it is lost in the block
        self.segments: dict[int, int] = {}  # the end of each segment, by its beginning
        self.free: dict[int, int] = {}  # the end of each free piece, by its beginning
        self._begins: dict[int, int] = {}  # the beginning of each free piece, by its end
        self._by_size: list[tuple[int, int]] = []  # size and beginning of each free piece

    def smallest(self, size: int) -> int | None:
        """Where the smallest free piece of at least `size` bytes begins; None if there is none."""
        place = bisect_left(self._by_size, (size, 0))
        return self._by_size[place][1] if place < len(self._by_size) else None

    def take(self, begin: int) -> int:
        """Take the free piece that begins at `begin`; return its end."""
        end = self.free.pop(begin)
        del self._begins[end]
        del self._by_size[bisect_left(self._by_size, (end - begin, begin))]
        return end

    def put(self, begin: int, end: int) -> None:
        """Add a piece to the free ones, and join it with its free neighbours."""
        if end in self.free:
            end = self.take(end)
        if begin in self._begins:
            begin = self._begins[begin]
            self.take(begin)
        self.free[begin], self._begins[end] = end, begin
        insort(self._by_size, (end - begin, begin))


class Block(NamedTuple):
    """The memory that one tensor gets, by address."""

    pool: Pool
    begin: int
    end: int


class Allocator:
    """Hands out blocks. `reserved` is the bytes it has taken from the GPU, at most `limit`."""

    def __init__(self, limit: float = math.inf) -> None:
        self.limit, self.reserved = limit, 0
        self._small, self._large = Pool(MIN_BLOCK), Pool(SMALL + 1)
        self._next = 0  # where the next segment begins

    def allocate(self, nbytes: int) -> Block:
        """Take a block of at least `nbytes`; raises `OutOfMemoryError`."""
        size = _rounded(nbytes, MIN_BLOCK)
        pool = self._small if size <= SMALL else self._large
        begin = pool.smallest(size)
        if begin is None:
            begin = self._new_segment(pool, size)
        end = pool.take(begin)
        if end - begin - size >= pool.smallest_rest:
            pool.put(begin + size, end)
            end = begin + size
        return Block(pool, begin, end)

    def release(self, block: Block) -> None:
        """Take a block back."""
        block.pool.put(block.begin, block.end)

    def _new_segment(self, pool: Pool, size: int) -> int:
        """Take a segment with room for a block of `size` bytes; return where it begins."""
        if pool is self._small:
            nbytes = SMALL_SEGMENT
        else:
            nbytes = LARGE_SEGMENT if size < OWN_SEGMENT else _rounded(size, ROUNDED_TO)
        if self.reserved + nbytes > self.limit:
            self._give_back()
        if self.reserved + nbytes > self.limit:
            raise OutOfMemoryError
        begin, end = self._next, self._next + nbytes
        self._next = end + MIN_BLOCK  # a gap, so that pieces of two segments are never joined
        self.reserved += nbytes
        pool.segments[begin] = end
        pool.put(begin, end)
        return begin

    def _give_back(self) -> None:
        """Give the GPU back those segments that are entirely free."""
        for pool in (self._small, self._large):
            for begin, end in list(pool.segments.items()):
                if pool.free.get(begin) == end:
                    pool.take(begin)
                    del pool.segments[begin]
                    self.reserved -= end - begin


def _rounded(nbytes: int, unit: int) -> int:
    return -(-nbytes // unit) * unit


def reserved(events: Iterable[tuple[int, int]], limit: float = math.inf) -> int:
    """The most bytes ever reserved on a GPU of `limit` bytes; raises `OutOfMemoryError`.

    Each event is the number of a storage, and the change of its size in bytes.
    """
    allocator, most = Allocator(limit), 0
    held: dict[int, tuple[int, Block]] = {}
    for number, change in events:
        nbytes = change
        if number in held:
            before, block = held.pop(number)
            allocator.release(block)
            nbytes += before
        if nbytes:
            held[number] = nbytes, allocator.allocate(nbytes)
            most = max(most, allocator.reserved)
    return most


def smallest_gpu(events: list[tuple[int, int]], peak: int) -> int:
    """The bytes of the smallest GPU that has room for these storages.

    Together, the storages never take more than `peak` bytes. On a larger GPU the allocator would
    reserve more. The result may be too high by 1 % of the peak.
    """
    low, high = peak, reserved(events)
    while high - low > max(1, PRECISION * peak):
        middle = (low + high) // 2
        try:
            high = reserved(events, middle)
        except OutOfMemoryError:
            low = middle
    return high
