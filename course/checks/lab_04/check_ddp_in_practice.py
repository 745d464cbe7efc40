"""Checks of lab 04: snapshots that survive a kill at any moment, and a trainer that goes on from them."""

from course.checks.engine.catalogue import hint
from course.checks.engine.reference import furthest
from course.checks.lab_04 import on_rank_snapshot, on_rank_trainer

CLOSE = 1e-5  # float32, different orders of summation


class TestSnapshot:
    """Exercise 1: the state of a run, kept."""

    exercise = "snapshot"

    @hint("`torch.save` takes an open file as well as a path")
    def test_reads_back(self, ranks):
        """What write() wrote, read() gives back."""
        before, state = ranks(1, on_rank_snapshot.round_trip, join=False)[0]
        assert before is None, f"where nothing was written yet, read() gives {before}"
        assert state and sorted(state) == ["step", "weights"], (
            f"of weights and step, read() gives back {state and list(state)}"
        )
        assert furthest([state["weights"]], [on_rank_snapshot.OLD["weights"]]) == 0, (
            "read() gives back other weights"
        )

    @hint("at which moment is there neither the old file nor the whole new one under that name?")
    def test_killed(self, ranks):
        """Killed (-9) at any moment of write(), there is a whole snapshot: the last one or the new one."""
        moments, lost = ranks(1, on_rank_snapshot.killed, join=False)[0]
        assert not lost, (
            f"of {moments} kills, {len(lost)} lost the snapshot; the first, at moment {lost[0]}"
        )

    @hint("a kill leaves the half-written file behind: will the next save reuse its name?")
    def test_left_over(self, ranks):
        """However often it is killed, at most one half-written file lies beside the snapshot."""
        files = ranks(1, on_rank_snapshot.left_over, join=False)[0]
        assert "model.pt" in files, f"after five saves the folder holds {files}"
        assert len(files) <= 2, f"after three kills the folder holds {len(files)} files: {files}"

    @hint(
        "a machine that loses its power may keep the rename and lose the bytes: flush(), then os.fsync(file.fileno())"
    )
    def test_on_disk(self, ranks):
        """The whole file is forced to the disk before it gets its name."""
        calls = ranks(1, on_rank_snapshot.calls, join=False)[0]
        assert calls == ["sync", "rename"], (
            f"what happened to the whole file, in order: {calls or 'nothing'}"
        )

    @hint("rank 0 writes the file, but its random numbers are its own")
    def test_random_states(self, ranks):
        """random_states() holds every rank's state, rank 0's first, on all ranks (3 ranks)."""
        for rank, (same, (first, again)) in enumerate(ranks(3, on_rank_snapshot.random_states)):
            assert all(same), f"on rank {rank}, the states of these ranks are right: {same}"
            assert first == again, (
                f"rank {rank} draws {first:.3f}, and {again:.3f} after its state was restored"
            )

    @hint("every rank takes another element of the same order")
    def test_shares(self, ranks):
        """All samples are dealt out, the same number to every rank (2 and 3 ranks, 22 samples)."""
        for world_size in (2, 3):
            drawn = [
                places[0] for places in ranks(world_size, on_rank_snapshot.shares, 22, [(0, 0)])
            ]
            lengths = {len(share) for share in drawn}
            assert len(lengths) == 1, (
                f"{world_size} ranks draw {[len(share) for share in drawn]} samples"
            )
            every = [index for share in drawn for index in share]
            assert set(every) == set(range(22)), (
                f"{world_size} ranks together draw {len(set(every))} of 22 samples"
            )
            assert len(every) < 22 + world_size, (
                f"{world_size} ranks draw {len(every)} samples in all"
            )
        last = [places[0] for places in ranks(3, on_rank_snapshot.shares, 22, [(0, 21)])]
        lengths = [len(share) for share in last]
        assert lengths == [1, 1, 1], (
            f"with one sample left of an epoch, three ranks draw {lengths} samples"
        )

    @hint("the order is that of the whole epoch; what is done stands at its beginning")
    def test_goes_on(self, ranks):
        """From a place in the epoch on, each rank draws what it would have drawn there without a break."""
        for rank, (whole, rest) in enumerate(
            ranks(2, on_rank_snapshot.shares, 22, [(3, 0), (3, 8)])
        ):
            assert rest == whole[4:], (
                f"rank {rank} draws {whole} in an epoch, and {rest} from 8 samples of all on"
            )

    @hint(
        "the place counts the samples of all ranks: how many are left does not depend on who took them"
    )
    def test_other_world_size(self, ranks):
        """After two ranks have done 8 of 20 samples, three ranks draw the other 12, each once."""
        done = {
            i
            for whole, _ in ranks(2, on_rank_snapshot.shares, 20, [(0, 0), (0, 8)])
            for i in whole[:4]
        }
        rest = [i for (share,) in ranks(3, on_rank_snapshot.shares, 20, [(0, 8)]) for i in share]
        assert sorted([*done, *rest]) == list(range(20)), (
            f"done: {sorted(done)}; drawn afterwards: {sorted(rest)}"
        )


class TestTrainer:
    """Exercise 2: the trainer."""

    exercise = "trainer"

    @hint(
        "two batches of 1 and 3 pairs: how much does a pair of each weigh in the mean over all four?"
    )
    def test_window(self, ranks):
        """A step on several batches, also of different sizes, is that of one process on all their pairs."""
        for sizes in ([[2, 2], [2]], [[1, 3], [3, 1, 2]]):
            for rank, got in enumerate(ranks(2, on_rank_trainer.one_update, sizes)):
                off = furthest(got, on_rank_trainer.one_process(sizes, 2))
                assert off < CLOSE, (
                    f"batches of {sizes} pairs: rank {rank}'s weights are off by {off:.2g}"
                )

    @hint("DDP decides in the forward whether the backward will communicate")
    def test_quiet(self, ranks):
        """A step on three batches sends as many messages as a step on one."""
        first, one, three = ranks(2, on_rank_trainer.messages, [1, 1, 3])[0]
        assert one == first > 0, f"a step on one batch sends {one} messages"
        assert three == one, f"a step on one batch sends {one} messages, on three {three}"

    @hint("write down the shares for a warm-up of 4: 1/4, 2/4 ...")
    def test_warm_up(self, ranks):
        """The learning rate rises evenly to its full value and stays there; without a warm-up it is full at once."""
        for warmup, wanted in ((4, [0.25, 0.5, 0.75, 1, 1, 1]), (0, [1, 1])):
            shares = ranks(1, on_rank_trainer.rates, warmup, len(wanted))[0]
            off = max(abs(share - right) for share, right in zip(shares, wanted, strict=True))
            assert off < 1e-6, (
                f"with a warm-up of {warmup} steps the rates are {[round(s, 3) for s in shares]} of the full"
            )

    @hint("what does the next step depend on? Leave one of them out, and see what becomes of it")
    def test_goes_on(self, ranks, tmp_path):
        """Broken off within an epoch and begun again, it ends with the very same weights, bit by bit (with dropout)."""
        for rank, (off, apart, begun, steps) in enumerate(
            ranks(2, on_rank_trainer.resumed, str(tmp_path), 4)
        ):
            assert begun == 4, f"broken off after 4 steps, it goes on from step {begun}"
            assert steps == 2, (
                f"it was broken off with 2 steps of 6 to go, and took {steps} after that"
            )
            assert off == 0, (
                f"rank {rank}'s weights differ by {off:.2g} from those of an unbroken run"
            )
            assert apart == 0, f"rank {rank}'s weights differ by {apart:.2g} from rank 0's"

    @hint("DDP's own names begin with `module.`")
    def test_bare(self, ranks):
        """The weights in the snapshot have the names of the bare model, which any script can load."""
        saved, bare = ranks(2, on_rank_trainer.loaded_alone)[0]
        assert saved == bare, (
            f"the snapshot's weights are called {saved[0]} ..., the model's {bare[0]} ..."
        )

    @hint("ranks have 4, 3 and 3 of the 10 samples: add sums and counts up, and divide once")
    def test_evaluate(self, ranks):
        """evaluate() is exact on three ranks with ten samples, and leaves the model in training mode."""
        loss, accuracy = on_rank_trainer.evaluated_alone()
        for rank, (got_loss, got_accuracy, training) in enumerate(
            ranks(3, on_rank_trainer.evaluated)
        ):
            assert abs(got_loss - loss) < CLOSE, (
                f"rank {rank} says a loss of {got_loss:.4f}; it is {loss:.4f}"
            )
            assert abs(got_accuracy - accuracy) < CLOSE, (
                f"rank {rank} says {got_accuracy:.3f}; it is {accuracy:.3f}"
            )
            assert training, f"rank {rank} is left in evaluation mode"
