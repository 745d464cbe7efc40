"""Checks of flat_unit: the parameters of a layer as one flat buffer in equal parts."""

import itertools
import math

from course.checks.lab_10 import on_rank_flat_unit as on_rank
from course.checks.lab_10.any_sharded import AnySharded
from course.checks.lab_10.on_rank_sharding import traffic
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE


class TestFlatUnit(AnySharded):
    """Exercise 2: gradients and optimizer state sharded, in equal parts."""

    @hint("How many numbers are missing until N divides the length? None, if it does already.")
    def test_flatten(self, ranks):
        """flatten() keeps the order, and adds as few zeros as give equal parts (2 to 4 ranks)."""
        for world_size in (2, 3, 4):
            for flat, expected in itertools.chain(*ranks(world_size, on_rank.flattened)):
                assert len(flat) % world_size == 0, (
                    f"{len(flat)} numbers cannot be cut into {world_size} equal parts"
                )
                assert len(flat) - len(expected) < world_size, (
                    f"{len(expected)} numbers became {len(flat)}: "
                    f"that is more padding than {world_size} ranks need"
                )
                assert flat[: len(expected)] == expected, "the numbers are not in their order"
                assert not any(flat[len(expected) :]), "the padding is not zero"

    @hint("The shards are filled with their rank's number: what should stand in `full`?")
    def test_gather(self, ranks):
        """After gather() every parameter holds what the ranks have in their shards."""
        for world_size in (2, 3):
            for rank, off in enumerate(ranks(world_size, on_rank.gathered)):
                assert off == 0, (
                    f"{world_size} ranks: the weights on rank {rank} are off by {off:.2g}"
                )

    @hint("A sum over the ranks is not yet an average; and which part of it is yours?")
    def test_reduce(self, ranks):
        """After reduce() `shard.grad` is this rank's part of the average (2 and 3 ranks)."""
        for world_size in (2, 3):
            for rank, off in enumerate(ranks(world_size, on_rank.reduced)):
                assert off < CLOSE, (
                    f"{world_size} ranks: the shard's gradient on rank {rank} is off by {off:.2g}"
                )

    @hint("The rank that has that part must see it: hide nothing from the sum.")
    def test_overflow(self, ranks):
        """An infinite number in one rank's gradient reaches the shard that it belongs to."""
        first = ranks(2, on_rank.overflowed)[0]
        assert not math.isfinite(first), (
            f"rank 1's gradient has an infinite number, and in rank 0's shard it is {first:.4g}"
        )

    @hint("Turn the flat gradients into the dtype of the shard before they are added up.")
    def test_sums_in_float32(self, ranks):
        """Gradients in bf16 are added up in float32, the dtype of the shard."""
        for dtype, off in ranks(3, on_rank.reduced_from_bf16):
            assert dtype == "torch.float32", f"the shard's gradient is {dtype}"
            assert off < CLOSE, f"the average of bf16 gradients is off by {off:.2g}"

    @hint("Which collective sends each rank only the part that it needs?")
    def test_traffic(self, ranks):
        """A step sends what DDP sends: one reduce-scatter and one all-gather of each unit."""
        for calls, sent, sizes, units in ranks(3, traffic, "flat_unit"):
            expected = 2 * sum(sizes.values())
            assert sent <= expected, (
                f"a step sends {sent} bytes instead of {expected}, in units of (N-1)/N: "
                + ", ".join(f"{name} {size}" for name, size in calls)
            )
            assert len(calls) <= 2 * units, (
                f"a step sends {len(calls)} messages for {units} units instead of {2 * units}"
            )
