"""Checks of cured_lies: runs whose results were wrong, cured and tried on real ranks."""

from course.checks.engine.hint import hint
from course.checks.engine.reference import CLOSE
from course.checks.lab_04b import on_rank_cured_lies as on_rank
from course.checks.lab_04b.any_cure import AnyCure


class TestCuredLies(AnyCure):
    """Exercise 3: results that were wrong."""

    @hint("say what each number should be, and explain how it became what it is")
    def test_causes(self, alone):
        """causes() names the right cause of every wrong result."""
        self.name_causes(alone, {"epochs": 2, "averaging": 0, "metrics": 3, "results": 1})

    @hint("the sampler has a method that takes the epoch")
    def test_epochs(self, ranks):
        """Each epoch deals all samples, in its own order."""
        results = ranks(2, on_rank.epochs)
        for epoch in range(3):
            drawn = sorted(index for rank in results for index in rank[epoch])
            assert drawn == list(range(12)), f"in epoch {epoch} the ranks draw {drawn}"
        first, second, third = results[0]
        assert first != second != third != first, (
            f"rank 0 draws {first}, then {second}, then {third}"
        )

    @hint(
        "write the gradient of the mean over all losses as a sum over ranks; "
        "DDP divides by the world size"
    )
    def test_mean_loss(self, ranks):
        """With 2, 6 and 1 losses on three ranks, the gradient is that of the mean over all nine."""
        for counts in ([2, 6, 1], [4, 4, 4]):
            for rank, (gradient, right) in enumerate(ranks(3, on_rank.mean_loss, counts)):
                assert abs(gradient - right) < CLOSE, (
                    f"with {counts} losses, rank {rank}'s gradient is {gradient:.4f}; "
                    f"it should be {right:.4f}"
                )

    @hint("one file, one writer, a line end after each line")
    def test_write_lines(self, ranks, tmp_path):
        """The file has every rank's lines, in order, and nothing from an older run; all ranks find
        it complete.
        """
        wanted = "".join(
            f"rank {rank}: {number}\n" for rank in range(3) for number in range(2 + rank)
        )
        for rank, text in enumerate(ranks(3, on_rank.write_lines, str(tmp_path))):
            assert text == wanted, (
                f"rank {rank} finds {len(text.splitlines())} lines, the first {text[:20]!r}"
            )

    @hint("the mean of the others, without the slowest itself")
    def test_slowest(self, ranks):
        """All ranks find the rank that computed longest, and its time relative to the others'
        mean.
        """
        times = [[1.0, 1.0, 3.0], [0.2, 0.1, 0.1]]
        for rank, said in enumerate(ranks(3, on_rank.slowest, times)):
            for seconds, (found, factor), wanted in zip(times, said, (2, 0), strict=True):
                assert found == wanted, (
                    f"of {seconds}, rank {rank} names rank {found} as the slowest"
                )
                right = seconds[wanted] * 2 / (sum(seconds) - seconds[wanted])
                assert abs(factor - right) < 1e-3, (
                    f"of {seconds}, rank {rank} says {factor:.2f} times, not {right:.2f}"
                )
