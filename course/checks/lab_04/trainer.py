"""Checks of trainer: a trainer that continues from its snapshot."""

import math

from course.checks.lab_04 import on_rank_trainer as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE, furthest


class TestTrainer:
    """Exercise 2: the trainer."""

    @hint(
        "Take two batches of 1 and 3 pairs: "
        "how much does a pair of each weigh in the mean over all four?"
    )
    def test_window(self, ranks):
        """A step on several batches, also of different sizes, is that of one process on all their
        pairs, and returns the mean loss of this rank's pairs.
        """
        for sizes in ([[2, 2], [2]], [[1, 3], [3, 1, 2]]):
            expected, losses = on_rank.one_process(sizes, 2)
            for rank, (got, returned) in enumerate(ranks(2, on_rank.one_update, sizes)):
                off = furthest(got, expected)
                assert off < CLOSE, (
                    f"batches of {sizes} pairs: rank {rank}'s weights are off by {off:.2g}"
                )
                for loss, right in zip(returned, losses[rank], strict=True):
                    assert abs(loss - right) < CLOSE, (
                        f"batches of {sizes} pairs: update() returns {loss:.4f} on rank {rank}; "
                        f"the mean loss of its pairs is {right:.4f}"
                    )

    @hint("Anyone who reads the log must see that the numbers have gone wrong.")
    def test_nan(self, ranks):
        """A loss that is not a number is returned as it is."""
        for rank, loss in enumerate(ranks(2, on_rank.loss_of_nan)):
            assert math.isnan(loss), (
                f"a pair's loss is NaN, and update() returns {loss} on rank {rank}"
            )

    @hint("A tensor that was not detached keeps all that it was computed from.")
    def test_leaves_nothing(self, ranks):
        """A step leaves no tensors in memory that the one before did not, and the model in training
        mode.
        """
        for rank, (more, training) in enumerate(ranks(2, on_rank.left_behind)):
            assert more == 0, f"ten steps leave {more} more tensors in memory on rank {rank}"
            assert training, f"update() leaves the model in evaluation mode on rank {rank}"

    @hint("Accumulation is for batches that do not fit into memory together.")
    def test_one_batch_at_a_time(self, ranks):
        """No pass of a step has more pairs than the largest batch of its window."""
        for rank, sizes in enumerate(ranks(2, on_rank.passes, [3, 1, 2])):
            assert max(sizes) <= 3 and sum(sizes) == 6, (
                f"for batches of 3, 1 and 2 pairs, the passes of rank {rank} have {sizes} pairs"
            )

    @hint("DDP decides in the forward whether the backward will communicate.")
    def test_quiet(self, ranks):
        """A step on three batches sends as many messages as a step on one."""
        first, one, three = ranks(2, on_rank.messages, [1, 1, 3])[0]
        assert one == first and one[0] > 0, f"a step on one batch sends {one[0]} messages"
        assert three[0] == one[0], (
            f"a step on one batch sends {one[0]} messages, on three {three[0]}"
        )
        gradients = sum(parameter.numel() for parameter in on_rank.Tiny(0.0).parameters())
        assert three[1] == one[1] < 2 * gradients, (
            f"for {gradients} gradients, a step on one batch sends {one[1]} numbers, "
            f"on three {three[1]}"
        )

    @hint("Write down the shares for a warm-up of 4: 1/4, 2/4 ...")
    def test_warm_up(self, ranks):
        """The learning rate rises evenly to its full value and stays there; without a warm-up it
        starts there.
        """
        for warmup, expected in ((4, [0.25, 0.5, 0.75, 1, 1, 1]), (0, [1, 1])):
            shares = ranks(1, on_rank.rates, warmup, len(expected) - 1)[0]
            off = max(abs(share - right) for share, right in zip(shares, expected, strict=True))
            assert off < 1e-6, (
                f"with a warm-up of {warmup} steps the rates are {[round(s, 3) for s in shares]} "
                "of the full"
            )

    @hint("What does the next step depend on? Leave one part out, and see what changes.")
    def test_goes_on(self, ranks, tmp_path):
        """Stopped in the warm-up, at the end of an epoch or later, it ends with the weights of an
        unbroken run, bit by bit (with dropout).
        """
        stops = [1, 3, 4]
        for rank, of_rank in enumerate(ranks(2, on_rank.resumed, str(tmp_path), stops)):
            for at, (off, apart, begun, steps) in zip(stops, of_rank, strict=True):
                assert begun == at, f"stopped after {at} steps, it continues from step {begun}"
                assert steps == 6 - at, (
                    f"it was stopped with {6 - at} of 6 steps left, and took {steps} after that"
                )
                assert off == 0, (
                    f"stopped after {at} steps, rank {rank}'s weights differ by {off:.2g} "
                    "from those of an unbroken run"
                )
                assert apart == 0, f"rank {rank}'s weights differ by {apart:.2g} from rank 0's"

    @hint(
        "DDP's own names begin with `module.`, those of the bare model do not. Copy tensors if you "
        "must, never the module."
    )
    def test_bare(self, ranks):
        """The weights in the snapshot have the names of the bare model, which any script can
        load, and no module is moved for them.
        """
        saved, bare, moved = ranks(2, on_rank.loaded_alone)[0]
        missing = [name for name in bare if name not in saved]
        assert saved == bare, (
            f"the snapshot's weights are called {', '.join(saved)}; "
            f"of the model's, missing: {', '.join(missing) or 'none'}"
        )
        assert not moved, "state() moves a module to another device: on GPUs, DDP loses it then"

    @hint("Ranks have 4, 3 and 3 of the 10 samples. Add up sums and counts, and divide once.")
    def test_evaluate(self, ranks):
        """evaluate() is exact on three ranks with ten samples, and leaves the model in training
        mode.
        """
        loss, accuracy = on_rank.evaluated_alone()
        for rank, (got_loss, got_accuracy, training) in enumerate(ranks(3, on_rank.evaluated)):
            assert abs(got_loss - loss) < CLOSE, (
                f"rank {rank} returns a loss of {got_loss:.4f}; it is {loss:.4f}"
            )
            assert abs(got_accuracy - accuracy) < CLOSE, (
                f"rank {rank} returns {got_accuracy:.3f}; it is {accuracy:.3f}"
            )
            assert training, f"rank {rank} is left in evaluation mode"
