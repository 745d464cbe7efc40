"""Checks of snapshot: snapshots that survive a kill at any moment."""

from course.checks.lab_04 import on_rank_snapshot as on_rank
from course.checks.tools.hint import hint


class TestSnapshot:
    """Exercise 1: the saved state of a run."""

    @hint("`torch.save` takes an open file as well as a path.")
    def test_reads_back(self, alone):
        """read() returns what write() has written, bit by bit and with every dtype."""
        before, changed = alone(on_rank.round_trip)
        assert before is None, f"where nothing was written yet, read() gives {before}"
        assert not changed, f"after write() and read(), {changed}"

    @hint("What does the caller learn when the disk is full, and which file has the name then?")
    def test_failed(self, alone):
        """When a save fails, write() raises the error, and the last snapshot is still there."""
        error, lost = alone(on_rank.failed)
        assert error is not None, "a save failed (no space left), and write() raised nothing"
        assert lost is None, f"after a save that failed (no space left), {lost}"

    @hint("At which moment is there neither the old file nor the whole new one under that name?")
    def test_killed(self, alone):
        """After a kill (-9) at any moment of write() there is a whole snapshot, the last or the new
        one.
        """
        moments, lost = alone(on_rank.killed)
        assert not lost, (
            f"of {moments} kills, {len(lost)} lost the snapshot; the first, at moment {lost[0]}"
        )

    @hint("A kill leaves half of the second file behind. What does the next save do with it?")
    def test_left_over(self, alone):
        """After any number of kills, at most one half-written file is left beside the snapshot, and
        nothing of it gets into the next one.
        """
        files, wrong, longer = alone(on_rank.left_over)
        assert "model.pt" in files, f"after kills, the folder holds {files}"
        assert len(files) <= 2, f"after five kills the folder holds {len(files)} files: {files}"
        assert not wrong, f"after a save that follows five kills, {wrong}"
        assert longer == 0, (
            f"a snapshot that is saved after five kills is {longer} bytes longer than one that is "
            "saved into an empty folder"
        )

    @hint(
        "A machine that loses its power may keep the rename and lose the bytes. "
        "Call flush(), then os.fsync(file.fileno())."
    )
    def test_on_disk(self, alone):
        """The whole file is forced to the disk, in the snapshot's folder, before it gets its name;
        nothing else is done to the snapshot.
        """
        happened = alone(on_rank.happened)
        assert happened, "no second file gets the name of the snapshot"
        wrong = [event for event in happened if event != on_rank.RENAMED]
        assert not wrong, f"of the snapshot: {wrong[0]}"

    @hint("Rank 0 writes the file, but its random numbers are its own.")
    def test_random_states(self, ranks):
        """random_states() holds every rank's state, rank 0's first, on all ranks (3 ranks)."""
        results = ranks(3, on_rank.random_states)
        for rank, (same, (first, again), on_gpu, groups) in enumerate(results):
            assert all(same), f"on rank {rank}, the states of these ranks are right: {same}"
            assert first == again, (
                f"rank {rank} draws {first:.3f}, and {again:.3f} after its state was restored"
            )
            assert on_gpu == [rank], f"rank {rank} restores the GPU state of rank {on_gpu}"
            assert groups <= 1, f"two calls have made {groups} process groups, and left them"

    @hint("Every rank takes different elements of the same order.")
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
        for rank, (last, none) in enumerate(ranks(3, on_rank.shares, 22, [(0, 21), (0, 22)])):
            assert len(last) == 1, (
                f"with one sample left of an epoch, rank {rank} of 3 draws {len(last)} samples"
            )
            assert none == [], f"with no sample left of an epoch, rank {rank} draws {none}"

    @hint("The order belongs to the whole epoch. The samples that are done come first in it.")
    def test_goes_on(self, ranks):
        """From any place in the epoch, each rank draws the samples of a run without a stop: 22
        samples, 2 ranks.
        """
        places = [(3, 0), (3, 8), None]
        for rank, (whole, rest, again) in enumerate(ranks(2, on_rank.shares, 22, places)):
            assert rest == whole[4:], (
                f"rank {rank} draws {whole} in an epoch, and {rest} from 8 samples of all on"
            )
            assert again == rest, f"rank {rank} draws {rest}, then {again} from the same place"

    @hint(
        "The place counts the samples of all ranks, so what is left does not depend on who took "
        "the others."
    )
    def test_other_world_size(self, ranks):
        """After two ranks have done 8 of 20 samples, three ranks draw the other 12, each once; of
        22 samples, they draw the other 14, and one of these twice.
        """
        for size, expected in ((20, 12), (22, 15)):
            halves = ranks(2, on_rank.shares, size, [(0, 0)])
            done = {i for (whole,) in halves for i in whole[:4]}
            rest = [i for (share,) in ranks(3, on_rank.shares, size, [(0, 8)]) for i in share]
            assert {*done}.isdisjoint(rest) and {*done, *rest} == {*range(size)}, (
                f"of {size} samples, done: {sorted(done)}; drawn afterwards: {sorted(rest)}"
            )
            assert len(rest) == expected, (
                f"of {size} samples, three ranks draw {len(rest)} after 8 are done, not {expected}"
            )
