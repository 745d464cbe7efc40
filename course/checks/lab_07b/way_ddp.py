"""Checks of `way_ddp`, the exercise of lab 07b."""

from course.checks.lab_07b import on_rank_way_ddp as on_rank
from course.checks.tools.hint import Undecided, hint
from course.checks.tools.reference import CLOSE, furthest, weights
from course.core import words


class TestWayDdp:
    """The exercise: convert a script to DDP."""

    @hint(
        "In each step the ranks together should read the 64 images of the single process, in its "
        "order (a DistributedSampler shuffles by default), and DDP has to average their gradients."
    )
    def test_same_training(self, ranks):
        """With 1, 2 and 4 ranks the script ends with the weights of a single process."""
        expected = weights(on_rank.alone())
        for count in (1, 2, 4):
            for rank, (got, *_) in enumerate(ranks(count, on_rank.converted, join=False)):
                off = furthest(got, expected)
                shown = f"with {words.plural(count, 'rank')}"
                assert off < CLOSE, f"{shown}, rank {rank}'s weights are off by {off:.2g}"

    @hint("Which images does each rank count, and who knows the counts of the others?")
    def test_counts_every_image_once(self, ranks):
        """Every rank logs the accuracy over the whole validation set, each image counted once."""
        expected = on_rank.CHECKED - len(range(on_rank.CHECKED)[on_rank.WRONG])
        alone = weights(on_rank.alone())
        for rank, (trained, right, logged) in enumerate(ranks(4, on_rank.converted, join=False)):
            if not furthest(trained, alone) < CLOSE:
                raise Undecided("first, the training must be that of the single process")
            assert right == expected, (
                f"with 4 ranks, rank {rank} counts {right:g} correct labels; "
                f"the single process labels {expected} of {on_rank.CHECKED} images correctly"
            )
            assert all(abs(share - expected / on_rank.CHECKED) < CLOSE for share in logged), (
                f"with 4 ranks, rank {rank} counts {right:g} correct labels of {on_rank.CHECKED}, "
                f"but logs an accuracy of {logged[0]:.2f}"
            )
