"""Checks of lab 04's clinic: every fault named, every cure tried on real ranks."""

from collections.abc import Callable

from course.checks.engine.catalogue import hint
from course.checks.lab_04 import on_rank_clinic as on_rank

CLOSE = 1e-5  # float32


def named(ranks: Callable, exercise: str, wanted: dict[str, int]) -> None:
    """The learner's causes are those at `wanted` (by number) in the exercise's CAUSES."""
    said, causes = ranks(1, on_rank.causes, exercise, join=False)[0]
    assert set(said) == set(wanted), (
        f"the runs are {', '.join(wanted)}; causes() speaks of {', '.join(said)}"
    )
    wrong = [name for name, number in wanted.items() if said[name] != causes[number]]
    assert not wrong, f"{wrong[0]} does not come from: {said[wrong[0]]}"


class TestCuredHangs:
    """Exercise 3: runs that never ended."""

    exercise = "cured_hangs"

    @hint(
        "where did each rank stand, and in which call? Where two causes are true, take the one that says more"
    )
    def test_causes(self, ranks):
        """Every hang has its cause."""
        named(
            ranks,
            self.exercise,
            {"validation": 1, "mean": 0, "order": 2, "skipping": 4, "leftover": 3},
        )

    @hint("`model.module` is the model without DDP")
    def test_validation(self, ranks):
        """Rank 0 validates by itself, rightly, and the ranks train on as one."""
        results = ranks(2, on_rank.validation_loss)
        said, right, _, _ = results[0]
        assert abs(said - right) < CLOSE, f"rank 0 says a loss of {said:.4f}; it is {right:.4f}"
        assert results[1][0] is None, f"rank 1 says {results[1][0]}, not None"
        assert all(training for _, _, training, _ in results), (
            "the model is left in evaluation mode"
        )
        assert all(same for *_, same in results), (
            "after the next steps the ranks hold different weights"
        )

    @hint("all ranks add up; one of them speaks")
    def test_mean(self, ranks):
        """Rank 0 gets the mean over three ranks, the others None, and nobody's loss is changed."""
        results = ranks(3, on_rank.mean_on_rank_0)
        said = [mean for mean, _ in results]
        assert said[0] is not None and abs(said[0] - 2) < CLOSE, (
            f"the mean of 1, 2 and 3 is 2; rank 0 says {said[0]}"
        )
        assert said[1:] == [None, None], f"the other ranks say {said[1:]}, not None"
        assert [loss for _, loss in results] == [1, 2, 3], (
            f"the losses are now {[loss for _, loss in results]}"
        )

    @hint("what order of the names do all ranks find by themselves?")
    def test_order(self, ranks):
        """Metrics held in three different orders add up to the right sums, in place, on all ranks."""
        wanted = {"right": [33.0], "loss": [1.5], "by class": [3.0, 3.0, 3.0]}
        for rank, sums in enumerate(ranks(3, on_rank.add_up)):
            assert sums == wanted, f"rank {rank} has {sums}"

    @hint("one rank that has none is enough; everybody must know")
    def test_skipping(self, ranks):
        """A step that one rank cannot take is left out by all, and by nobody else's mistake another one."""
        for missing, wanted in (({1: 2}, 3), ({0: 0, 1: 3}, 2), ({}, 4)):
            for rank, (steps, same) in enumerate(ranks(2, on_rank.train_skipping, missing)):
                assert steps == wanted, (
                    f"rank {rank} takes {steps} steps; every rank can take {wanted} of the 4"
                )
                assert same, "the ranks hold different weights"

    @hint("what does a rank do in Join's block when it has no batch left?")
    def test_uneven(self, ranks):
        """With 5 batches on rank 0 and 3 on rank 1, all 8 are trained on, and the weights stay the same."""
        for rank, (had, trained, same) in enumerate(ranks(2, on_rank.train_uneven)):
            assert trained == had, f"rank {rank} trains on {trained} of its {had} batches"
            assert same, "the ranks hold different weights"


class TestCuredFails:
    """Exercise 4: runs that failed."""

    exercise = "cured_fails"

    @hint("which rank failed first, and on which line?")
    def test_causes(self, ranks):
        """Every failure has its cause."""
        named(ranks, self.exercise, {"download": 2, "predictions": 0, "heads": 1, "saving": 3})

    @hint("rank 0 works, all wait, all read")
    def test_fetch(self, ranks, tmp_path):
        """One rank downloads, once; all three read the whole file."""
        results = ranks(3, on_rank.fetch, str(tmp_path))
        calls = [count for _, count in results]
        assert sum(calls) == 1, f"the ranks download {calls} times"
        for rank, (text, _) in enumerate(results):
            assert text == "young old musician athlete", f"rank {rank} reads {text!r}"

    @hint("what must a rank know before it can receive the others' tensors?")
    def test_gather(self, ranks):
        """Tensors of 2, 5 and 0 elements come together on every rank, in order, nothing added or lost."""
        for lengths in ([2, 5, 0], [3, 3, 3]):
            wanted = [rank + 1 for rank, length in enumerate(lengths) for _ in range(length)]
            for rank, (together, dtype) in enumerate(ranks(3, on_rank.gather, lengths)):
                assert together == wanted, f"of lengths {lengths}, rank {rank} has {together}"
                assert dtype == "torch.int64", f"the numbers were int64 and are now {dtype}"

    @hint("DDP can look for the parameters that a forward did not reach")
    def test_wrap(self, ranks):
        """Steps that use one head, or other heads on other ranks, give the weights of one process."""
        for rank, (off, wrapped) in enumerate(ranks(2, on_rank.wrap)):
            assert wrapped, "the model is not wrapped in DistributedDataParallel"
            assert off < CLOSE, f"rank {rank}'s weights are off by {off:.2g}"

    @hint("a rank may read the file as soon as save() has returned")
    def test_save(self, ranks, tmp_path):
        """One rank writes, beside the file first, and no rank goes on before the file is there."""
        results = ranks(2, on_rank.save, str(tmp_path))
        assert results[0][3], (
            "while the new snapshot is written, the old one is gone: a kill would leave none"
        )
        assert [count for count, *_ in results] == [3, 0], (
            f"three saves write {[c for c, *_ in results]} files by rank"
        )
        assert all(whole for _, whole, *_ in results), (
            "a rank went on before the new snapshot was there"
        )
        assert results[0][2] == ["model.pt"], f"the folder holds {results[0][2]}"


class TestCuredLies:
    """Exercise 5: results that were wrong."""

    exercise = "cured_lies"

    @hint("say aloud what each number should be, and how it came to be what it is")
    def test_causes(self, ranks):
        """Every wrong result has its cause."""
        named(ranks, self.exercise, {"epochs": 2, "averaging": 0, "metrics": 3, "results": 1})

    @hint("tell the sampler")
    def test_epochs(self, ranks):
        """Each epoch deals all samples out, in an order of its own."""
        results = ranks(2, on_rank.epochs)
        for epoch in range(3):
            drawn = sorted(index for rank in results for index in rank[epoch])
            assert drawn == list(range(12)), f"in epoch {epoch} the ranks draw {drawn}"
        first, second, third = results[0]
        assert first != second != third != first, (
            f"rank 0 draws {first}, then {second}, then {third}"
        )

    @hint(
        "write the gradient of the mean over all losses as a sum over ranks; DDP divides by the world size"
    )
    def test_mean_loss(self, ranks):
        """With 2, 6 and 1 losses on three ranks, the gradient is that of the mean over all nine."""
        for counts in ([2, 6, 1], [4, 4, 4]):
            for rank, (gradient, right) in enumerate(ranks(3, on_rank.mean_loss, counts)):
                assert abs(gradient - right) < CLOSE, (
                    f"with {counts} losses, rank {rank}'s gradient is {gradient:.4f}; right is {right:.4f}"
                )

    @hint("one file, one writer, a line end behind each line")
    def test_write_lines(self, ranks, tmp_path):
        """The file holds every rank's lines, in order, and nothing of an older run; all ranks find it complete."""
        wanted = "".join(
            f"rank {rank}: {number}\n" for rank in range(3) for number in range(2 + rank)
        )
        for rank, text in enumerate(ranks(3, on_rank.write_lines, str(tmp_path))):
            assert text == wanted, (
                f"rank {rank} finds {len(text.splitlines())} lines, the first {text[:20]!r}"
            )

    @hint("the mean of the others, without the slowest itself")
    def test_slowest(self, ranks):
        """The rank that computed longest is found by all ranks, with how many times the others' mean it took."""
        times = [[1.0, 1.0, 3.0], [0.2, 0.1, 0.1]]
        for rank, said in enumerate(ranks(3, on_rank.slowest, times)):
            for seconds, (found, factor), wanted in zip(times, said, (2, 0), strict=True):
                assert found == wanted, (
                    f"of {seconds}, rank {rank} takes rank {found} for the slowest"
                )
                right = seconds[wanted] * 2 / (sum(seconds) - seconds[wanted])
                assert abs(factor - right) < 1e-3, (
                    f"of {seconds}, rank {rank} says {factor:.2f} times, not {right:.2f}"
                )
