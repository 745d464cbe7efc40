"""Checks of cured_lies: runs whose results were wrong, cured and tried on real ranks."""

import math

from course.checks.lab_04b.any_cure import agree
from course.checks.lab_04c import on_rank_cured_lies as on_rank
from course.checks.tools.hint import hint


class TestCuredLies:
    """Exercise 1: results that were wrong."""

    @hint("The sampler has a method that takes the epoch.")
    def test_epochs(self, ranks):
        """Each of five epochs deals all samples, in its own order."""
        results = ranks(2, on_rank.epochs, 5)
        for epoch in range(5):
            drawn = sorted(index for rank in results for index in rank[epoch])
            assert drawn == list(range(12)), f"in epoch {epoch} the ranks draw {drawn}"
        for epoch, order in enumerate(results[0]):
            earlier = results[0].index(order)
            assert earlier == epoch, (
                f"rank 0 draws {order} in epoch {earlier}, and again in epoch {epoch}"
            )

    @hint(
        "Write the gradient of the mean over all losses as a sum over ranks. "
        "DDP divides by the world size."
    )
    def test_mean_loss(self, ranks):
        """In every step the gradient is that of the mean over the losses of all ranks (2 and 3
        ranks, with 2, 6 and 1 losses, with none on a rank, and others).
        """
        unequal, other = [[1.0, 2.0], [3000.0, 4.0, 6.0, 8.0, 10.0, 12.0], [3.0]], [[5.0]] * 3
        nan, none = [[1.0], [float("nan")], [2.0]], [[3.0, 4.0], [], [5.0]]
        for world_size in (2, 3):
            windows = [window[:world_size] for window in (unequal, other, nan, none)]
            for rank, result in enumerate(ranks(world_size, on_rank.mean_loss, windows)):
                for window, (gradient, right, loss) in zip(windows, result, strict=True):
                    assert agree(gradient, right), (
                        f"with {[len(of_rank) for of_rank in window]} losses, "
                        f"rank {rank}'s gradient is {gradient:.4f}; it should be {right:.4f}"
                    )
                    assert math.isnan(right) or not math.isnan(loss), (
                        f"with {[len(of_rank) for of_rank in window]} losses, "
                        f"rank {rank}'s loss is {loss}"
                    )

    @hint("One file is begun by one rank, with a line end after each line.")
    def test_write_lines(self, ranks, tmp_path):
        """The file has every rank's lines, in order, and nothing from an older run; one rank begins
        it, and all ranks find it complete.
        """
        lines = [["b, of rank 0", "a, of rank 0"], ["z", "", "z"], [], ["  y", "of rank 3"]]
        expected = "".join(f"{line}\n" for of_rank in lines for line in of_rank)
        results = ranks(4, on_rank.write_lines, str(tmp_path), lines)
        for rank, (text, _) in enumerate(results):
            assert text == expected, f"of {expected!r}, rank {rank} finds {text[:200]!r}"
        begun = [count for _, count in results]
        assert sum(begun) <= 1, f"the ranks begin the file {begun} times; once is enough"
