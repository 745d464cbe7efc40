"""Checks of cured_lies: runs whose results were wrong, cured and tried on real ranks."""

from course.checks.engine.hint import hint
from course.checks.lab_04b import on_rank_cured_lies as on_rank
from course.checks.lab_04b.any_cure import AnyCure, agree


class TestCuredLies(AnyCure):
    """Exercise 3: results that were wrong."""

    @hint("say what each number should be, and explain how it became what it is")
    def test_causes(self, alone):
        """causes() names the right cause of every wrong result."""
        self.name_causes(alone, {"epochs": 2, "averaging": 0, "metrics": 3, "results": 1})

    @hint("the sampler has a method that takes the epoch")
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
        "write the gradient of the mean over all losses as a sum over ranks; "
        "DDP divides by the world size"
    )
    def test_mean_loss(self, ranks):
        """In every step the gradient is that of the mean over the losses of all ranks (2 and 3
        ranks, with 2, 6 and 1 losses and others).
        """
        unequal, other = [[1.0, 2.0], [3000.0, 4.0, 6.0, 8.0, 10.0, 12.0], [3.0]], [[5.0]] * 3
        nan = [[1.0], [float("nan")], [2.0]]
        for world_size in (2, 3):
            windows = [window[:world_size] for window in (unequal, other, nan)]
            for rank, found in enumerate(ranks(world_size, on_rank.mean_loss, windows)):
                for window, (gradient, right) in zip(windows, found, strict=True):
                    assert agree(gradient, right), (
                        f"with {[len(of_rank) for of_rank in window]} losses, "
                        f"rank {rank}'s gradient is {gradient:.4f}; it should be {right:.4f}"
                    )

    @hint("one file, one writer, a line end after each line")
    def test_write_lines(self, ranks, tmp_path):
        """The file has every rank's lines, in order, and nothing from an older run; all ranks find
        it complete.
        """
        lines = [["b, of rank 0", "a, of rank 0"], ["z", "", "z"], [], ["  y", "of rank 3"]]
        wanted = "".join(f"{line}\n" for of_rank in lines for line in of_rank)
        for rank, text in enumerate(ranks(4, on_rank.write_lines, str(tmp_path), lines)):
            assert text == wanted, f"of {wanted!r}, rank {rank} finds {text[:200]!r}"

    @hint("the mean of the others, without the slowest itself")
    def test_slowest(self, ranks):
        """All ranks find the rank that computed longest, and its time relative to the others'
        mean.
        """
        times = [[1.0, 2.0, 90.0, 6.0], [3e-5, 1e-5, 1e-5, 2e-5], [5.0, 5.0, 5.0, 5.01]]
        for rank, said in enumerate(ranks(4, on_rank.slowest, times)):
            for seconds, (found, factor) in zip(times, said, strict=True):
                wanted = seconds.index(max(seconds))
                assert found == wanted, (
                    f"of {seconds}, rank {rank} names rank {found} as the slowest"
                )
                right = seconds[wanted] * 3 / (sum(seconds) - seconds[wanted])
                assert abs(factor - right) < 1e-3, (
                    f"of {seconds}, rank {rank} says {factor:.3f} times, not {right:.3f}"
                )
