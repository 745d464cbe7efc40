"""Checks of `compressed`, exercise 3 of lab 12."""

import itertools

from course.checks.lab_12 import any_simulated
from course.checks.lab_12 import on_rank_compressed as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE
from course.core import words

BF16 = 2**-8  # how far a rounded number is off, at the most, relative to itself
STEPS = 64


class TestCompressed:
    """Exercise 3: communication hooks that send less and remember the rest."""

    def drift(self, ranks, **options: object) -> float:
        """How far the sum of all averages is off, relative to a number, with equal gradients."""
        seen = ranks(2, on_rank.received, "sixteen_bits", STEPS, same=True, **options)
        expected = on_rank.gradients(1, 0, same=True)[0]
        sums = [[sum(column) for column in zip(*rows, strict=True)] for rows in seen]
        return max(
            abs(total / number - STEPS)
            for row in sums
            for total, number in zip(row, expected, strict=True)
        )

    @hint("Which dtype does a number have that takes two bytes, and has the range of float32?")
    def test_rounded(self, ranks):
        """sixteen_bits: the first averages are right up to the rounding of bfloat16, those of large
        gradients too (1, 2 and 3 ranks).
        """
        for world_size, times in ((1, 1), (2, 1), (3, 1), (2, 1e6)):
            rows = [on_rank.gradients(1, rank)[0] for rank in range(world_size)]
            right = [times * sum(column) / world_size for column in zip(*rows, strict=True)]
            largest = max(abs(number) for number in itertools.chain(*rows))
            by_rank = ranks(world_size, on_rank.received, "sixteen_bits", 1, times=times)
            for rank, seen in enumerate(by_rank):
                off = max(abs(a - b) for a, b in zip(seen[0], right, strict=True))
                assert off <= 3 * BF16 * times * largest, (
                    f"{words.plural(world_size, 'rank')}: "
                    f"on rank {rank} an average is off by {off:.2g}"
                )

    @hint("Which differences does a rank keep, and which row are they added to in the next step?")
    def test_rounding_is_remembered(self, ranks):
        """sixteen_bits: what rounding takes away comes later, so that in the sum of 64 steps
        nothing is lost. It holds for several buckets too.
        """
        for cap_mb in (25, 1e-5):
            off = self.drift(ranks, cap_mb=cap_mb)
            assert off <= 2 * BF16, (
                f"with the same gradients in {STEPS} steps, the sum of the averages is off by "
                f"{off:.2g} times a gradient"
            )

    def compare_largest(self, ranks, world_size: int, share: float = 0.25, **options) -> None:
        """Hold what `largest` averages to what one process computes that plays all ranks."""
        by_rank = [on_rank.gradients(6, rank) for rank in range(world_size)]
        rows = [list(step) for step in zip(*by_rank, strict=True)]
        count = max(1, int(share * on_rank.NUMBERS))
        feedback = options.get("feedback", True)
        expected = any_simulated.sparse_means(rows, count, feedback)
        seen = ranks(world_size, on_rank.received, "largest", 6, share, **options)
        for rank, got in enumerate(seen):
            for step, (row, right) in enumerate(zip(got, expected, strict=True), start=1):
                off = max(abs(a - b) for a, b in zip(row, right, strict=True))
                assert off < CLOSE, (
                    f"{words.plural(world_size, 'rank')}, {count} of {on_rank.NUMBERS} numbers: "
                    f"in step {step} an average on rank {rank} is off by {off:.2g}"
                )

    @hint("Largest by absolute value; what is sent must be gone from what is kept. `row` stays.")
    def test_largest(self, ranks):
        """largest: in six steps the averages are those of ranks that send the largest numbers of
        what they have, and keep the others (1, 2 and 3 ranks).
        """
        for world_size in (1, 2, 3):
            self.compare_largest(ranks, world_size)

    @hint("`memory.count(bucket)` says how many.")
    def test_share(self, ranks):
        """largest: another share is another number of numbers, and one is the least."""
        for share in (0.01, 0.5):
            self.compare_largest(ranks, 2, share)

    @hint("The memory itself knows whether it forgets: ask it each time, and tell it each time.")
    def test_without_memory(self, ranks):
        """With `Memory(feedback=False)` both hooks remember nothing."""
        off = self.drift(ranks, feedback=False)
        assert off > 8 * BF16, "sixteen_bits remembers, although the memory has no feedback"
        self.compare_largest(ranks, 2, feedback=False)

    @hint("Look at the size of a number that you send, and at how many you send.")
    def test_bytes(self, ranks):
        """sixteen_bits sends 2 bytes for each number; largest 8 for each that it sends."""
        for calls in ranks(2, on_rank.sent, "sixteen_bits", 0.25):
            nbytes = sum(call.nbytes for call in calls)
            assert nbytes == 2 * on_rank.NUMBERS, (
                f"sixteen_bits sends {nbytes} bytes for {on_rank.NUMBERS} numbers"
            )
        count = int(0.25 * on_rank.NUMBERS)
        for calls in ranks(2, on_rank.sent, "largest", 0.25):
            nbytes = sum(call.nbytes for call in calls) // 2  # of 2 ranks, in what is gathered
            assert nbytes <= 8 * count, f"largest sends {nbytes} bytes for {count} numbers"
