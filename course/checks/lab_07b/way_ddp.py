"""Checks of `way_ddp`, the exercise of lab 07b."""

from course.checks.lab_07b import on_rank_way_ddp as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE, furthest, weights


class TestWayDdp:
    """The exercise: convert a script to DDP."""

    @hint(
        "Together the ranks should read 64 images per step, each of them once, and DDP has to "
        "average their gradients."
    )
    def test_same_training(self, ranks):
        """With 1, 2 and 4 ranks the script ends with the weights of a single process."""
        wanted = weights(on_rank.alone())
        for count in (1, 2, 4):
            for rank, (got, _) in enumerate(ranks(count, on_rank.converted, join=False)):
                off = furthest(got, wanted)
                assert off < CLOSE, (
                    f"with {count} ranks, rank {rank}'s weights are off by {off:.2g}"
                )

    @hint("Which images does each rank count, and who knows the counts of the others?")
    def test_counts_every_image_once(self, ranks):
        """Every rank logs the accuracy over the whole validation set, each image counted once."""
        wanted = on_rank.CHECKED - len(range(on_rank.CHECKED)[on_rank.WRONG])
        for rank, (_, right) in enumerate(ranks(4, on_rank.converted, join=False)):
            assert right == wanted, (
                f"with 4 ranks, rank {rank} counts {right:g} correct labels; "
                f"the single process labels {wanted} of {on_rank.CHECKED} images correctly"
            )
