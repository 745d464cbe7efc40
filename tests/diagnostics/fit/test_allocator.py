"""Torch's caching allocator, followed by hand."""

import random
import re
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from course.core import words
from course.diagnostics.fit import allocator

HEADER = Path(torch.__file__).parent / "include" / "c10" / "core" / "AllocatorConfig.h"
KIB, MIB = 2**10, words.MIB


def test_its_sizes_are_those_of_the_installed_torch() -> None:
    sizes = {
        "kMinBlockSize": allocator.MIN_BLOCK,
        "kSmallSize": allocator.SMALL,
        "kSmallBuffer": allocator.SMALL_SEGMENT,
        "kMinLargeAlloc": allocator.OWN_SEGMENT,
        "kRoundLarge": allocator.ROUNDED_TO,
        "kLargeBuffer": allocator.LARGE_SEGMENT,
        "large_segment_size_": allocator.LARGE_SEGMENT,  # its name since torch 2.13
    }
    text = HEADER.read_text()
    written = dict(re.findall(r"(k[A-Z]\w+|large_segment_size_)(?: = |\{)(\d+)", text))
    of_torch = {name: int(size) for name, size in written.items() if name in sizes}
    assert of_torch == {name: sizes[name] for name in of_torch}
    assert set(sizes.values()) >= set(of_torch.values()) >= {allocator.LARGE_SEGMENT}
    assert re.search(r"use_expandable_segments_\{false\}", text)


@pytest.mark.parametrize(
    "sizes, most",
    [
        ([1], 2 * MIB),
        ([MIB, MIB], 2 * MIB),
        ([MIB, MIB, 1], 4 * MIB),
        ([MIB + 1], 20 * MIB),
        ([MIB + 1] * 13, 20 * MIB),  # 13 blocks of 1 MiB and 512 bytes leave more than another
        ([10 * MIB - 512, 10 * MIB - 512], 20 * MIB),
        ([10 * MIB], 10 * MIB),
        ([11 * MIB], 12 * MIB),
        ([5 * MIB, 11 * MIB], 20 * MIB),  # what is free of a segment is used first, if it is enough
        ([10 * MIB - 512, 11 * MIB], 32 * MIB),
        ([10 * MIB - 511, 10 * MIB - 512], 30 * MIB),
    ],
)
def test_what_is_reserved_for_blocks_one_after_another(sizes: list[int], most: int) -> None:
    assert allocator.reserved(list(enumerate(sizes))) == most


def test_a_rest_of_a_large_block_is_split_off_above_one_mib_only() -> None:
    hold = allocator.Allocator()
    first = hold.allocate(12 * MIB)
    hold.release(first)
    assert hold.allocate(11 * MIB) == first  # 1 MiB of it is lost
    hold.allocate(2 * MIB)
    assert hold.reserved == 32 * MIB


def test_neighbours_are_joined_and_the_best_fit_is_taken() -> None:
    hold = allocator.Allocator()
    a, b, c, d = (hold.allocate(4 * MIB) for _ in range(4))
    hold.allocate(4 * MIB)
    hold.release(b)
    hold.release(d)
    assert hold.allocate(3 * MIB - 512)[1:] == (b.begin, b.begin + 3 * MIB - 512)
    hold.release(c)
    joined = hold.allocate(8 * MIB)  # c and d, and what is left of b
    assert b.begin < joined.begin < c.begin and hold.reserved == 20 * MIB
    assert a.end == b.begin


def test_segments_of_two_kinds_are_never_joined() -> None:
    hold = allocator.Allocator()
    blocks = [hold.allocate(10 * MIB) for _ in range(2)]
    for block in blocks:
        hold.release(block)
    hold.allocate(20 * MIB)
    assert hold.reserved == 40 * MIB


def test_with_too_little_memory_free_segments_go_back() -> None:
    events = [(0, 10 * MIB), (0, -10 * MIB), (1, 30 * MIB)]
    assert allocator.reserved(events) == 40 * MIB
    assert allocator.reserved(events, limit=30 * MIB) == 30 * MIB
    with pytest.raises(allocator.OutOfMemoryError):
        allocator.reserved(events, limit=30 * MIB - 1)
    assert allocator.smallest_gpu(events, peak=30 * MIB) <= 30.3 * MIB


def test_a_storage_that_is_resized_moves() -> None:
    assert allocator.reserved([(0, 10 * MIB), (0, -10 * MIB), (0, 10 * MIB)]) == 10 * MIB
    assert allocator.reserved([(0, 10 * MIB), (0, 20 * MIB)]) == 10 * MIB + 30 * MIB


def test_no_two_blocks_overlap() -> None:
    choose = random.Random(0)
    hold, blocks = allocator.Allocator(), []
    for _ in range(3000):
        if blocks and choose.random() < 0.48:
            hold.release(blocks.pop(choose.randrange(len(blocks))))
        else:
            blocks.append(hold.allocate(choose.choice((100, 300 * KIB, 3 * MIB, 15 * MIB))))
        ordered = sorted((block.begin, block.end) for block in blocks)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(ordered))
    for block in blocks:
        hold.release(block)
    hold._give_back()
    assert hold.reserved == 0
