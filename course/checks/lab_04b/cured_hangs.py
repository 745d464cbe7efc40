"""Checks of cured_hangs: runs that never ended, cured and tried on real ranks."""

import math

import torch

from course.checks.lab_04b import on_rank_cured_hangs as on_rank
from course.checks.lab_04b.any_cure import agree
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE


class TestCuredHangs:
    """Exercise 1: runs that never ended."""

    @hint(
        "Where did each rank stand, and in which call? "
        "Where two causes are true, take the one that explains more."
    )
    def test_causes(self, alone):
        """causes() names the right cause of every hang."""
        expected = {"validation": 1, "mean": 0, "order": 2, "skipping": 4, "leftover": 3}
        named, causes = alone(on_rank.causes)
        assert set(named) == set(expected), (
            f"the runs are {', '.join(expected)}; causes() speaks of {', '.join(named)}"
        )
        wrong = [name for name, number in expected.items() if named[name] != causes[number]]
        assert not wrong, f"{wrong[0]} does not come from: {named[wrong[0]]}"

    @hint("`model.module` is the model without DDP.")
    def test_validation(self, ranks):
        """Rank 0 alone computes the right loss, and the ranks still train with equal weights."""
        results = ranks(3, on_rank.validation_loss)
        loss, right, _, _ = results[0]
        assert abs(loss - right) < CLOSE, f"rank 0 returns a loss of {loss:.4f}; it is {right:.4f}"
        others = [returned for returned, *_ in results[1:]]
        assert others == [None, None], f"the other ranks return {others}, not None"
        assert all(training for _, _, training, _ in results), (
            "the model is left in evaluation mode"
        )
        assert all(same for *_, same in results), (
            "after the next steps the ranks hold different weights or buffers"
        )

    @hint("All ranks add up, each a copy of its loss. One of them returns the result.")
    def test_mean(self, ranks):
        """Rank 0 gets the mean over all ranks, the others None, and nobody's loss is changed (2 and
        3 ranks).
        """
        for world_size in (2, 3):
            cases = [losses[:world_size] for losses in ([1.0, 2.5, 3.25], [1.0, math.nan, 3.0])]
            results = ranks(world_size, on_rank.mean_on_rank_0, cases)
            for number, losses in enumerate(cases):
                means = [of_rank[number][0] for of_rank in results]
                right = sum(losses) / world_size
                assert means[0] is not None and agree(means[0], right), (
                    f"the mean of {losses} is {right:.4f}; rank 0 returns {means[0]}"
                )
                assert set(means[1:]) == {None}, f"the other ranks return {means[1:]}, not None"
                losses_after = [of_rank[number][1] for of_rank in results]
                assert str(losses_after) == str(losses), (
                    f"the losses {losses} are now {losses_after}"
                )

    @hint(
        "Which order of the names can each rank find by itself? And does each metric keep its "
        "dtype on the way?"
    )
    def test_order(self, ranks):
        """Metrics of several dtypes, in three different orders, add up to the right sums on all
        ranks.
        """
        for rank, wrong in enumerate(ranks(3, on_rank.add_up)):
            assert not wrong, f"on rank {rank}, {wrong}"

    @hint("One rank without a batch is enough, and every rank must know of it.")
    def test_skipping(self, ranks):
        """All ranks leave out a step that one rank cannot take, and no other step."""
        zeros, none = torch.zeros(6, 4), torch.empty(0, 4)
        cases = [[zeros, none, zeros], [None, zeros, zeros], [zeros, None, None], [None] * 3]
        for rank, answers in enumerate(ranks(3, on_rank.all_have_one, cases)):
            assert answers == [True, False, False, False], (
                f"where 0, 1, 2 and 3 of 3 ranks have no batch, all_have_one() says {answers} "
                f"on rank {rank}"
            )
        for missing, expected in (({1: 2}, 3), ({0: 0, 1: 3}, 2)):
            for rank, (steps, same) in enumerate(ranks(2, on_rank.train_skipping, missing)):
                assert steps == expected, (
                    f"rank {rank} takes {steps} steps; every rank can take {expected} of the 4"
                )
                assert same, "the ranks hold different weights"

    @hint("What does a rank do in Join's block when it has no batch left?")
    def test_uneven(self, ranks):
        """With 5 and 3 batches, and with 2, 4 and 1, all of them are used as one process would use
        them, and the ranks' weights stay equal.
        """
        for counts in ([5, 3], [2, 4, 1]):
            results = ranks(len(counts), on_rank.train_uneven, counts)
            for rank, (off, same, training) in enumerate(results):
                assert same, f"with {counts} batches, the ranks hold different weights"
                assert off < CLOSE, (
                    f"with {counts} batches, rank {rank}'s weights are off by {off:.2g} from those "
                    "of one process that trains on all of them"
                )
                assert training, "the model is left in evaluation mode"
