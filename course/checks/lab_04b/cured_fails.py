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
        """One rank downloads a file, once; all three read the whole of it."""
        for of_file in zip(*ranks(3, on_rank.fetch, str(tmp_path)), strict=True):
            calls = [count for _, count in of_file]
            assert sum(calls) == 1, f"for one file, the ranks download {calls} times"
            for rank, (text, _) in enumerate(of_file):
                assert text == on_rank.TEXT, f"of {on_rank.TEXT!r}, rank {rank} reads {text!r}"

    @hint("what must a rank know before it can receive the others' tensors?")
    def test_gather(self, ranks):
        """Tensors of 2, 5 and 0 elements are gathered on every rank, in order, with nothing added,
        changed or lost, whatever their dtype.
        """
        for lengths in ([2, 5, 0], [30, 3, 31]):
            for rank, found in enumerate(ranks(3, on_rank.gather, lengths)):
                for kind, (wrong, kept) in found.items():
                    assert not wrong, f"{kind}, lengths {lengths}: on rank {rank} {wrong}"
                    assert kept, f"{kind}, lengths {lengths}: rank {rank}'s own tensor has changed"

    @hint("DDP can look for the parameters that a forward did not reach")
    def test_wrap(self, ranks):
        """Steps that use one head, or different heads on the ranks, give the weights of one
        process.
        """
        for rank, (off, wrapped, training) in enumerate(ranks(2, on_rank.wrap)):
            assert wrapped, "the model is not wrapped in DistributedDataParallel"
            assert training, "the model is left in evaluation mode"
            assert off < CLOSE, f"rank {rank}'s weights are off by {off:.2g}"

    @hint("a rank may read the file as soon as save() has returned")
    def test_save(self, ranks, tmp_path):
        """One rank writes, first beside the file; no rank continues before the file is there."""
        results = ranks(3, on_rank.save, str(tmp_path))
        writers = sorted(count for count, *_ in results)
        assert writers == [0, 0, 3], f"three saves write {[c for c, *_ in results]} files by rank"
        for rank, (_, wrong, files, harms) in enumerate(results):
            assert not harms, f"a kill may leave no whole file: {harms[0]}"
            assert not wrong, f"when save() has returned on rank {rank}, {wrong}"
            assert files == ["model.pt"], f"the folder holds {files}"
