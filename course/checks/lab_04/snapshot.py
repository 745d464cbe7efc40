"""Checks of snapshot: snapshots that survive a kill at any moment."""

from course.checks.engine.hint import hint
from course.checks.engine.reference import furthest
from course.checks.lab_04 import on_rank_snapshot as on_rank


class TestSnapshot:
    """Exercise 1: the saved state of a run."""

    @hint("`torch.save` takes an open file as well as a path")
    def test_reads_back(self, alone):
        """read() returns what write() has written."""
        before, state = alone(on_rank.round_trip)
        assert before is None, f"where nothing was written yet, read() gives {before}"
        assert state and sorted(state) == ["step", "weights"], (
            f"of weights and step, read() gives back {state and list(state)}"
        )
        assert furthest([state["weights"]], [on_rank.OLD["weights"]]) == 0, (
            "read() gives back other weights"
        )

    @hint("at which moment is there neither the old file nor the whole new one under that name?")
    def test_killed(self, alone):
        """After a kill (-9) at any moment of write() there is a whole snapshot, the last or the new
        one.
        """
        moments, lost = alone(on_rank.killed)
        assert not lost, (
            f"of {moments} kills, {len(lost)} lost the snapshot; the first, at moment {lost[0]}"
        )

    @hint("a kill leaves the half-written file behind: will the next save reuse its name?")
    def test_left_over(self, alone):
        """After any number of kills, at most one half-written file is left beside the snapshot."""
        files = alone(on_rank.left_over)
        assert "model.pt" in files, f"after five saves the folder holds {files}"
        assert len(files) <= 2, f"after three kills the folder holds {len(files)} files: {files}"

    @hint(
        "a machine that loses its power may keep the rename and lose the bytes: "
        "flush(), then os.fsync(file.fileno())"
    )
    def test_on_disk(self, alone):
        """The whole file is forced to the disk before it gets its name."""
        calls = alone(on_rank.calls)
        assert calls == ["sync", "rename"], (
            f"what happened to the whole file, in order: {calls or 'nothing'}"
        )

    @hint("rank 0 writes the file, but its random numbers are its own")
    def test_random_states(self, ranks):
        """random_states() holds every rank's state, rank 0's first, on all ranks (3 ranks)."""
        for rank, (same, (first, again)) in enumerate(ranks(3, on_rank.random_states)):
            assert all(same), f"on rank {rank}, the states of these ranks are right: {same}"
            assert first == again, (
                f"rank {rank} draws {first:.3f}, and {again:.3f} after its state was restored"
            )

    @hint("every rank takes different elements of the same order")
    def test_shares(self, ranks):
        """All samples are dealt, equally many to every rank (2 and 3 ranks, 22 samples)."""
        for world_size in (2, 3):
            drawn = [places[0] for places in ranks(world_size, on_rank.shares, 22, [(0, 0)])]
            lengths = {len(share) for share in drawn}
            assert len(lengths) == 1, (
                f"{world_size} ranks draw {[len(share) for share in drawn]} samples"
            )
            every = [index for share in drawn for index in share]
            assert set(every) == set(range(22)), (
                f"{world_size} ranks together draw {len(set(every))} of 22 samples"
            )
            assert len(every) < 22 + world_size, (
                f"{world_size} ranks draw {len(every)} samples together"
            )
        last = [places[0] for places in ranks(3, on_rank.shares, 22, [(0, 21)])]
        lengths = [len(share) for share in last]
        assert lengths == [1, 1, 1], (
            f"with one sample left of an epoch, three ranks draw {lengths} samples"
        )

    @hint("the order belongs to the whole epoch; the samples that are done come first in it")
    def test_goes_on(self, ranks):
        """From any place in the epoch, each rank draws the samples of a run without a stop."""
        for rank, (whole, rest) in enumerate(ranks(2, on_rank.shares, 22, [(3, 0), (3, 8)])):
            assert rest == whole[4:], (
                f"rank {rank} draws {whole} in an epoch, and {rest} from 8 samples of all on"
            )

    @hint(
        "the place counts the samples of all ranks: "
        "how many are left does not depend on who took them"
    )
    def test_other_world_size(self, ranks):
        """After two ranks have done 8 of 20 samples, three ranks draw the other 12, each once."""
        done = {i for whole, _ in ranks(2, on_rank.shares, 20, [(0, 0), (0, 8)]) for i in whole[:4]}
        rest = [i for (share,) in ranks(3, on_rank.shares, 20, [(0, 8)]) for i in share]
        assert sorted([*done, *rest]) == list(range(20)), (
            f"done: {sorted(done)}; drawn afterwards: {sorted(rest)}"
        )
