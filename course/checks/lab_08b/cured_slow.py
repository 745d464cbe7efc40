"""Checks of cured_slow: what made three trainings slow, cured."""

import random

from course.checks.lab_08b import on_rank_cured_slow as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE

LONGER = 1.25  # than the shortest text of a step, the longest may be


class TestCuredSlow:
    """Exercise 1: three slow trainings."""

    @hint("A DataLoader can have workers. How many does it have by default?")
    def test_read_by_others(self, ranks):
        """Other processes than the one that trains read all samples, on 2 ranks."""
        for rank, (_, own) in enumerate(ranks(2, on_rank.read, 4, list(range(24)), limit=60)):
            assert own == 0, f"rank {rank} has read {own} of 24 samples itself"

    @hint("The order is the sampler's, so the loader needs it; and it needs the batch size.")
    def test_what_is_read(self, ranks):
        """The batches have what the sampler chooses, in its order; the last one may be smaller."""
        order = [5, 3, 22, 8, 0, 13, 17, 2, 9, 20]
        ((samples, _),) = ranks(1, on_rank.read, 4, order, limit=60)
        assert samples == [order[:4], order[4:8], order[8:]], (
            f"where the sampler chooses {order}, the batches of 4 are {samples}"
        )

    @hint("Each loss is one of several. By what is the gradient of their mean divided?")
    def test_gradients(self, ranks):
        """The gradients are those of the mean of all batches of all ranks (1, 3 and 4 batches)."""
        for count in (1, 3, 4):
            for rank, (off, *_) in enumerate(ranks(2, on_rank.accumulated, count)):
                assert off < CLOSE, (
                    f"with {count} batches, a gradient on rank {rank} is off by {off:.2g}"
                )

    @hint("Look up `no_sync` in lab 04. Which passes are inside, forward and backward?")
    def test_sent_once(self, ranks):
        """Each gradient is sent once in a step, and afterwards DDP sends as it did before."""
        for count in (1, 4):
            for _, (sent, size), _, later in ranks(2, on_rank.accumulated, count):
                assert sent == size, (
                    f"with {count} batches, a rank sends {sent} numbers; the model has {size}"
                )
                assert sum(later) == size, (
                    f"a pass after the step sends {sum(later)} numbers, not {size}"
                )

    @hint("A forward pass keeps what its backward needs. Of how many batches may that be, at once?")
    def test_a_pass_for_each_batch(self, ranks):
        """Each batch has a forward pass of its own, and its backward pass before the next one."""
        for _, _, passes, _ in ranks(2, on_rank.accumulated, 4):
            rows = [rows for what, rows in passes if what == "forward"]
            assert rows == [5, 5, 5, 5], f"four batches of 5 go through the model as {rows}"
            order = [what for what, _ in passes]
            assert order == ["forward", "backward"] * 4, (
                f"the passes of four batches are {', '.join(order)}"
            )

    @hint("Make lists of the texts of each step first, and deal each list out to the ranks.")
    def test_every_text(self, alone):
        """Every text is in one batch of one rank, and all batches are full (2, 3 and 4 ranks)."""
        for world_size in (2, 3, 4):
            lengths, batches, intact = dealt(alone, world_size)
            assert intact == lengths, "the list of lengths is changed"
            sizes = {len(batch) for rank in batches for batch in rank}
            assert sizes == {8}, f"with {world_size} ranks, the batches of 8 have {sorted(sizes)}"
            chosen = sorted(index for rank in batches for batch in rank for index in batch)
            assert chosen == list(range(len(lengths))), (
                f"with {world_size} ranks, {len(set(chosen))} of {len(lengths)} texts are chosen, "
                f"{len(chosen) - len(set(chosen))} of them more than once"
            )

    @hint("Sorted by length, which texts are next to each other? They belong in one step.")
    def test_equal_work(self, alone):
        """In a step, all ranks' texts are of nearly equal length (2, 3 and 4 ranks)."""
        for world_size in (2, 3, 4):
            lengths, batches, _ = dealt(alone, world_size)
            counts = [len(rank) for rank in batches]
            assert len(set(counts)) == 1, f"the ranks have {counts} batches"
            for number, step in enumerate(zip(*batches, strict=True)):
                words = [lengths[index] for batch in step for index in batch]
                assert max(words) <= LONGER * min(words), (
                    f"with {world_size} ranks, the texts of step {number} have {min(words)} "
                    f"to {max(words)} words"
                )


def dealt(alone, world_size):
    """Many lengths in any order, the batches of each rank, and the lengths afterwards."""
    lengths = [24 + number % 73 for number in range(40 * 8 * world_size)]
    random.Random(world_size).shuffle(lengths)
    return lengths, *alone(on_rank.dealt, lengths, 8, world_size)
