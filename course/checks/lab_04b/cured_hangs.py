"""Checks of cured_hangs: runs that never ended, cured and tried on real ranks."""

from course.checks.engine.hint import hint
from course.checks.engine.reference import CLOSE
from course.checks.lab_04b import on_rank_cured_hangs as on_rank
from course.checks.lab_04b.any_cure import AnyCure


class TestCuredHangs(AnyCure):
    """Exercise 1: runs that never ended."""

    @hint(
        "where did each rank stand, and in which call? "
        "Where two causes are true, take the one that explains more"
    )
    def test_causes(self, alone):
        """causes() names the right cause of every hang."""
        self.name_causes(
            alone, {"validation": 1, "mean": 0, "order": 2, "skipping": 4, "leftover": 3}
        )

    @hint("`model.module` is the model without DDP")
    def test_validation(self, ranks):
        """Rank 0 alone computes the right loss, and the ranks still train with equal weights."""
        results = ranks(2, on_rank.validation_loss)
        said, right, _, _ = results[0]
        assert abs(said - right) < CLOSE, f"rank 0 returns a loss of {said:.4f}; it is {right:.4f}"
        assert results[1][0] is None, f"rank 1 returns {results[1][0]}, not None"
        assert all(training for _, _, training, _ in results), (
            "the model is left in evaluation mode"
        )
        assert all(same for *_, same in results), (
            "after the next steps the ranks hold different weights"
        )

    @hint("all ranks add up; one of them returns the result")
    def test_mean(self, ranks):
        """Rank 0 gets the mean over three ranks, the others None, and nobody's loss is changed."""
        results = ranks(3, on_rank.mean_on_rank_0)
        said = [mean for mean, _ in results]
        assert said[0] is not None and abs(said[0] - 2) < CLOSE, (
            f"the mean of 1, 2 and 3 is 2; rank 0 returns {said[0]}"
        )
        assert said[1:] == [None, None], f"the other ranks return {said[1:]}, not None"
        assert [loss for _, loss in results] == [1, 2, 3], (
            f"the losses are now {[loss for _, loss in results]}"
        )

    @hint("which order of the names can each rank find by itself?")
    def test_order(self, ranks):
        """Metrics in three different orders add up to the right sums, in place, on all ranks."""
        wanted = {"right": [33.0], "loss": [1.5], "by class": [3.0, 3.0, 3.0]}
        for rank, sums in enumerate(ranks(3, on_rank.add_up)):
            assert sums == wanted, f"rank {rank} has {sums}"

    @hint("one rank without a batch is enough, and every rank must know of it")
    def test_skipping(self, ranks):
        """All ranks leave out a step that one rank cannot take, and no other step."""
        for missing, wanted in (({1: 2}, 3), ({0: 0, 1: 3}, 2), ({}, 4)):
            for rank, (steps, same) in enumerate(ranks(2, on_rank.train_skipping, missing)):
                assert steps == wanted, (
                    f"rank {rank} takes {steps} steps; every rank can take {wanted} of the 4"
                )
                assert same, "the ranks hold different weights"

    @hint("what does a rank do in Join's block when it has no batch left?")
    def test_uneven(self, ranks):
        """With 5 batches on rank 0 and 3 on rank 1, all 8 are used, and the ranks' weights stay
        equal.
        """
        for rank, (had, trained, same) in enumerate(ranks(2, on_rank.train_uneven)):
            assert trained == had, f"rank {rank} trains on {trained} of its {had} batches"
            assert same, "the ranks hold different weights"
