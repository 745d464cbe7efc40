"""Checks of `amp_resume`, exercise 5 of lab 05."""

from course.checks.engine.hint import hint
from course.checks.lab_05 import on_rank_amp_resume as on_rank


class TestAmpResume:
    """Exercise 5: save and continue."""

    @hint("which of the four does the next step depend on?")
    def test_goes_on(self, ranks, tmp_path):
        """A run that stops half-way and continues ends, on every rank, with the weights of one
        that never stopped.
        """
        for rank, found in enumerate(ranks(2, on_rank.resumed, str(tmp_path / "job.pt"))):
            assert found["off"] == 0, (
                f"rank {rank}: the weights are off by {found['off']:.2g} at the end"
            )

    @hint("the scaler has its own state_dict, with the count in it")
    def test_scaler(self, ranks, tmp_path):
        """Scale and count of good steps are as they were."""
        for rank, found in enumerate(ranks(2, on_rank.resumed, str(tmp_path / "job.pt"))):
            for name, wanted in found["wanted"].items():
                got = found["scaler"][name]
                assert got == wanted, (
                    f"rank {rank}: the scaler's {name} was {wanted:g} and comes back as {got:g}"
                )

    @hint("the next step to take is the one that was saved")
    def test_step(self, ranks, tmp_path):
        """load returns the step that was saved."""
        for found in ranks(2, on_rank.resumed, str(tmp_path / "job.pt")):
            assert found["step"] == on_rank.STOP, (
                f"saved at step {on_rank.STOP}, loaded as {found['step']}"
            )

    @hint("several ranks writing one file can leave a mixture of both")
    def test_one_writer(self, ranks, tmp_path):
        """Only rank 0 writes."""
        wrote = [found["wrote"] for found in ranks(2, on_rank.saved, str(tmp_path / "job.pt"))]
        assert wrote == [True, False], f"by rank: {wrote}"

    @hint("rank 1 has nothing to write; does it know when rank 0 is done?")
    def test_whole(self, ranks, tmp_path):
        """When save returns on any rank, the file is there."""
        for rank, found in enumerate(ranks(2, on_rank.saved, str(tmp_path / "job.pt"))):
            assert found["whole"], f"rank {rank} continues before the file is written"

    @hint("DDP puts `module.` before every name; the model inside it does not")
    def test_plain(self, ranks, tmp_path):
        """The file holds the four by name, and its weights load into a model without DDP."""
        found = ranks(2, on_rank.saved, str(tmp_path / "job.pt"))[0]
        assert set(found["names"]) >= {"step", "model", "optimizer", "scaler"}, (
            f"the file holds {found['names']}"
        )
        assert found["off"] == 0, f"a loaded weight is off by {found['off']:.2g}"
