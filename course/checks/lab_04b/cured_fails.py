"""Checks of cured_fails: runs that failed, cured and tried on real ranks."""

from course.checks.engine.hint import hint
from course.checks.engine.reference import CLOSE
from course.checks.lab_04b import on_rank_cured_fails as on_rank
from course.checks.lab_04b.any_cure import AnyCure


class TestCuredFails(AnyCure):
    """Exercise 2: runs that failed."""

    @hint("which rank failed first, and on which line?")
    def test_causes(self, alone):
        """causes() names the right cause of every failure."""
        self.name_causes(alone, {"download": 2, "predictions": 0, "heads": 1, "saving": 3})

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
        """Tensors of 2, 5 and 0 elements are gathered on every rank, in order, with nothing added
        or lost.
        """
        for lengths in ([2, 5, 0], [3, 3, 3]):
            wanted = [rank + 1 for rank, length in enumerate(lengths) for _ in range(length)]
            for rank, (together, dtype) in enumerate(ranks(3, on_rank.gather, lengths)):
                assert together == wanted, f"of lengths {lengths}, rank {rank} has {together}"
                assert dtype == "torch.int64", f"the numbers were int64 and are now {dtype}"

    @hint("DDP can look for the parameters that a forward did not reach")
    def test_wrap(self, ranks):
        """Steps that use one head, or different heads on the ranks, give the weights of one
        process.
        """
        for rank, (off, wrapped) in enumerate(ranks(2, on_rank.wrap)):
            assert wrapped, "the model is not wrapped in DistributedDataParallel"
            assert off < CLOSE, f"rank {rank}'s weights are off by {off:.2g}"

    @hint("a rank may read the file as soon as save() has returned")
    def test_save(self, ranks, tmp_path):
        """One rank writes, first beside the file; no rank continues before the file is there."""
        results = ranks(2, on_rank.save, str(tmp_path))
        assert results[0][3], (
            "while the new snapshot is written, the old one is gone: a kill would leave none"
        )
        assert [count for count, *_ in results] == [3, 0], (
            f"three saves write {[c for c, *_ in results]} files by rank"
        )
        assert all(whole for _, whole, *_ in results), (
            "a rank continued before the new snapshot was there"
        )
        assert results[0][2] == ["model.pt"], f"the folder holds {results[0][2]}"
