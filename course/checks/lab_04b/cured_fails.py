"""Checks of cured_fails: runs that failed, cured and tried on real ranks."""

from course.checks.lab_04b import on_rank_cured_fails as on_rank
from course.checks.tools.hint import hint


class TestCuredFails:
    """Exercise 2: runs that failed."""

    @hint("One rank works, all wait, all read. A file that is there already may be an old one.")
    def test_fetch(self, ranks, tmp_path):
        """One rank downloads a file, once, also if an old one is there; all three read the whole
        of the new one.
        """
        for of_file in zip(*ranks(3, on_rank.fetch, str(tmp_path)), strict=True):
            calls = [count for _, count in of_file]
            assert sum(calls) == 1, f"for one file, the ranks download {calls} times"
            for rank, (text, _) in enumerate(of_file):
                assert text == on_rank.TEXT, f"of {on_rank.TEXT!r}, rank {rank} reads {text!r}"

    @hint("Let the error of the download out: whoever started the run must learn of it.")
    def test_failed(self, ranks, tmp_path):
        """If the download fails, fetch() raises its error (with an old file there, and without)."""
        errors = ranks(1, on_rank.failed, str(tmp_path))[0]
        for there, error in zip(("an old file is", "no file is"), errors, strict=True):
            assert error == on_rank.NO_NETWORK, (
                f"the download fails ({on_rank.NO_NETWORK}) while {there} there: fetch() "
                + (f"raises: {error}" if error else "raises nothing")
            )

    @hint("What must a rank know before it can receive the others' tensors?")
    def test_gather(self, ranks):
        """Tensors of 2, 5 and 0 elements, and of up to 70,000, are gathered on every rank, in
        order, with nothing added, changed or lost, whatever their dtype.
        """
        for lengths in ([2, 5, 0], [70_000, 3, 300]):
            for rank, result in enumerate(ranks(3, on_rank.gather, lengths)):
                for kind, (wrong, intact) in result.items():
                    assert not wrong, f"{kind}, lengths {lengths}: on rank {rank} {wrong}"
                    assert intact, (
                        f"{kind}, lengths {lengths}: rank {rank}'s own tensor has changed"
                    )
