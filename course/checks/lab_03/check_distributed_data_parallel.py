"""Checks of lab 03: a script made distributed, and DistributedDataParallel written by hand."""

from collections.abc import Callable

from course.checks.engine.catalogue import hint
from course.checks.engine.reference import OPTIMIZERS, Small, furthest, train_alone, weights
from course.checks.lab_03 import on_rank as on_rank

CLOSE = 1e-5  # float32, different orders of summation


class _AnyReplica:
    """What holds for every replica, whenever it communicates."""

    exercise: str
    wrappers: tuple[str, ...]

    def each(
        self, ranks: Callable, world_size: int, function: Callable, *args: object, **kwargs: object
    ):
        """(name of the class, results by rank) for each class of the exercise, all from one set of ranks."""
        by_rank = ranks(
            world_size,
            on_rank.each,
            self.exercise,
            self.wrappers,
            function.__name__,
            *args,
            **kwargs,
        )
        for name in self.wrappers:
            yield name, [results[name] for results in by_rank]

    def compare_training(
        self, ranks: Callable, world_size: int, kinds, optimizers, passes: int = 1
    ) -> None:
        """Three steps on the ranks give the weights of three steps of one process on the whole batch."""
        for name, by_rank in self.each(ranks, world_size, on_rank.train, kinds, optimizers, passes):
            for rank, trained in enumerate(by_rank):
                for (kind, optimizer), got in trained.items():
                    wanted = train_alone(kind, optimizer, 3, world_size, passes)
                    assert furthest(got, wanted) < CLOSE, (
                        f"{name}, {world_size} ranks, {optimizer}, {kind} model: after 3 steps rank {rank}'s weights "
                        f"are off by {furthest(got, wanted):.2g}"
                    )

    @hint("average means the sum over the ranks divided by how many there are")
    def test_average(self, ranks):
        """After finish(), every gradient is the average over the ranks (2 and 3 ranks)."""
        for world_size in (2, 3):
            for name, off in self.each(ranks, world_size, on_rank.averages):
                assert max(off) < CLOSE, (
                    f"{name}, {world_size} ranks: a gradient is off by {max(off):.2g}"
                )

    @hint("compare your gradients of the second step: does anything survive from the first?")
    def test_same_as_one_process(self, ranks):
        """Training gives the weights of one process on the whole batch, for SGD, momentum and AdamW."""
        self.compare_training(ranks, 2, ("plain",), tuple(OPTIMIZERS))

    @hint(
        "a frozen parameter has no gradient at all; a tied one has a single gradient for both its uses"
    )
    def test_tied_and_frozen(self, ranks):
        """Tied parameters are averaged once, frozen ones are left alone."""
        self.compare_training(ranks, 2, ("tied", "frozen"), ("SGD",))

    @hint(
        "`pack` marks which gradients there are and `unpack` reads the marks: let both see every parameter"
    )
    def test_unused(self, ranks):
        """A parameter unused on one rank counts as zero there; unused on all, it keeps no gradient."""
        for name, results in self.each(ranks, 2, on_rank.unused):
            off = max(off for off, _ in results)
            assert off < CLOSE, (
                f"{name}: with unused parameters the weights differ from torch's DDP by {off:.2g}"
            )
            assert all(kept for _, kept in results), (
                f"{name}: a parameter that no rank used has got a gradient"
            )

    @hint(
        "the mean of the ranks' means is what DDP computes too, even where their batches differ in size"
    )
    def test_uneven_batches(self, ranks):
        """With batches of different sizes the result is torch's DDP's."""
        for name, off in self.each(ranks, 2, on_rank.uneven):
            assert max(off) < CLOSE, (
                f"{name}: the weights differ from torch's DDP by {max(off):.2g}"
            )

    @hint("gradients add up by themselves; only the last backward of the group may communicate")
    def test_accumulation(self, ranks):
        """Within no_sync() nothing is sent, and gradients of three passes add up to one update."""
        for name, sent in self.each(ranks, 2, on_rank.messages, quiet=True):
            assert not sent[0], f"{name}: {len(sent[0])} messages within no_sync()"
        self.compare_training(ranks, 2, ("plain",), ("SGD",), passes=3)

    @hint("a world of one is a world")
    def test_one_rank(self, ranks):
        """It works on one rank too."""
        self.compare_training(ranks, 1, ("plain",), ("SGD",))

    @hint("write the communication yourself")
    def test_own_work(self, ranks):
        """It does not hand the work to torch's own DistributedDataParallel."""
        for name, off in self.each(ranks, 2, on_rank.without_library):
            assert max(off) < CLOSE, f"{name}: a gradient is off by {max(off):.2g}"


class TestDdp:
    """Exercise 1: the single-process script, made distributed."""

    exercise = "ddp"

    @hint("`init_process_group` finds the rank and the world size in the environment")
    def test_joins(self, ranks):
        """setup() joins all ranks in a group and picks the CPU where there is no GPU."""
        for device, world_size in ranks(3, on_rank.setup, join=False):
            assert device == "cpu", f"the device is {device} on a box without a GPU"
            assert world_size == 3, f"a rank sees a world of {world_size} instead of 3"

    @hint(
        "the rank counts over all machines, the local rank within one; NCCL uses the *current* GPU"
    )
    def test_gpu(self, ranks):
        """On a box with GPUs, setup() takes the GPU of LOCAL_RANK, makes it current, and uses NCCL."""
        device, called = ranks(1, on_rank.setup_on_gpus, join=False)[0]
        assert device == "cuda:1", f"rank 5, which is local rank 1, uses {device}"
        assert "set_device cuda:1" in called, (
            "the GPU is not made current with torch.cuda.set_device"
        )
        assert any("nccl" in call for call in called), f"of the backends it uses {called}"

    @hint("read what DDP's documentation says of `device_ids`")
    def test_wrap(self, ranks):
        """wrap() gives DDP the GPU of this rank, and no device_ids on the CPU."""
        gpus, cpu = ranks(1, on_rank.wrapped)[0]
        assert gpus == [1], f"on cuda:1 DDP is given device_ids {gpus}"
        assert cpu is None, f"on the CPU DDP is given device_ids {cpu}"

    @hint("what deals the samples out to the ranks?")
    def test_shares(self, ranks):
        """In an epoch every sample is drawn once, by one rank (2 and 3 ranks)."""
        for world_size in (2, 3):
            drawn = [
                index
                for result in ranks(world_size, on_rank.main, 1, 24, join=False)
                for index in result["drawn"]
            ]
            assert sorted(drawn) == list(range(24)), (
                f"{world_size} ranks drew {len(set(drawn))} different samples of 24, {len(drawn)} in all"
            )

    @hint("the sampler's order depends on its seed and the epoch it was told")
    def test_reshuffles(self, ranks):
        """The samples are shuffled, and anew in each epoch."""
        drawn = ranks(2, on_rank.main, 2, 24, join=False)[0]["drawn"]
        first, second = drawn[:12], drawn[12:]
        assert first != sorted(first), "the samples come in the order of the data set"
        assert first != second, "rank 0 draws the same samples in the same order in both epochs"

    @hint("is the model that you train the one that DDP returned?")
    def test_same_weights(self, ranks):
        """After training, all ranks hold the same weights."""
        first, *others = (result["weights"] for result in ranks(3, on_rank.main, 1, 24, join=False))
        for rank, other in enumerate(others, start=1):
            assert furthest(first, other) == 0, (
                f"rank {rank}'s weights differ from rank 0's by {furthest(first, other):.2g}"
            )

    @hint("DDP averages the gradients; nothing else has to be scaled")
    def test_same_as_one_process(self, ranks):
        """Training gives the weights of one process on the whole batch."""
        results = ranks(2, on_rank.main, 1, 24, join=False)
        wanted = on_rank.one_process([result["drawn"] for result in results], 24)
        off = furthest(results[0]["weights"], wanted)
        assert off < 1e-4, f"the weights are off by {off:.2g} after 3 steps"

    @hint("ten pairs on four ranks: who looks at how many, and what do the counts add up to?")
    def test_accuracy(self, ranks):
        """accuracy() looks at each of 10 pairs once with 4 ranks, and says the same right number on all."""
        results = ranks(4, on_rank.accuracy, 10)
        drawn = sorted(index for _, looked_at, _ in results for index in looked_at)
        assert drawn == list(range(10)), f"the ranks together looked at {len(drawn)} pairs: {drawn}"
        shares = [share for share, _, _ in results]
        assert max(abs(share - 0.4) for share in shares) < 1e-6, (
            f"4 of 10 are right; the ranks say {shares}"
        )

    @hint("dropout and batch norm behave differently in evaluation: switch back")
    def test_trains_on(self, ranks):
        """accuracy() leaves the model in training mode."""
        assert all(training for _, _, training in ranks(2, on_rank.accuracy, 4)), (
            "the model is left in evaluation mode"
        )


class TestMyDdp(_AnyReplica):
    """Exercise 2: communication after backward."""

    exercise = "my_ddp"
    wrappers = ("AfterBackward", "Flat")

    @hint("parameters are not all that a model holds: look at `buffers()`")
    def test_same_start(self, ranks):
        """After construction every rank has rank 0's parameters and buffers."""
        for name, by_rank in self.each(ranks, 3, on_rank.start):
            for rank, got in enumerate(by_rank):
                off = furthest(got, weights(Small(seed=10)))
                assert off == 0, (
                    f"{name}: rank {rank} starts with weights that differ from rank 0's by {off:.2g}"
                )

    @hint("how many messages does AfterBackward send for ten parameters, and Flat?")
    def test_messages(self, ranks):
        """AfterBackward sends one message a parameter, Flat sends one in all."""
        parameters = len(list(Small(seed=0).parameters()))
        for name, sent in self.each(ranks, 2, on_rank.messages):
            wanted = 1 if name == "Flat" else parameters
            assert len(sent[0]) == wanted, (
                f"{name}: {len(sent[0])} messages for {parameters} parameters"
            )


class TestMyBuckets(_AnyReplica):
    """Exercise 3: communication during backward."""

    exercise = "my_buckets"
    wrappers = ("Overlapped", "Bucketed")

    @hint("which gradient is ready first, and who tells you?")
    def test_starts_during_backward(self, ranks):
        """Messages begin before the first layer has its gradient, and backward waits for none."""
        for name, results in self.each(ranks, 2, on_rank.sent_early):
            for begun, asynchronous in results:
                assert begun > 0, f"{name}: nothing is sent before backward reaches the first layer"
                assert asynchronous, f"{name}: backward waits for a message instead of going on"

    @hint("what has to be counted anew for the next backward?")
    def test_starts_again(self, ranks):
        """The second step overlaps as the first does: its messages begin during backward too."""
        for name, results in self.each(ranks, 2, on_rank.sent_early, steps=2):
            for begun, _ in results:
                assert begun > 0, (
                    f"{name}: in the second step nothing is sent before backward reaches the first layer"
                )

    @hint("count the buckets, then the messages")
    def test_messages(self, ranks):
        """One message a bucket: as many as parameters in Overlapped, one in Bucketed with a large cap."""
        parameters = len(list(Small(seed=0).parameters()))
        for name, sent in self.each(ranks, 2, on_rank.messages):
            wanted = 1 if name == "Bucketed" else parameters
            assert len(sent[0]) == wanted, (
                f"{name}: {len(sent[0])} messages for {parameters} parameters"
            )

    @hint(
        "walk through the parameters backwards; a bucket is closed when the next parameter would not fit"
    )
    def test_assign(self, ranks):
        """Buckets hold every trained parameter once, last layer first, within the cap unless one alone exceeds it."""
        for cap in (48, 170, 10_000):
            buckets, sizes, trained = ranks(1, on_rank.buckets, cap / 2**20)[0]
            order = [i for bucket in buckets for i in bucket]
            assert order == sorted(order, reverse=True), (
                f"cap of {cap} B: the order of sending is {order}"
            )
            assert len(order) == trained, (
                f"cap of {cap} B: {len(order)} places for {trained} trained parameters"
            )
            for bucket, following in zip(buckets, [*buckets[1:], None], strict=True):
                held = sum(sizes[i] for i in bucket)
                assert held <= cap or len(bucket) == 1, f"cap of {cap} B: a bucket holds {held} B"
                if following:
                    assert held + sizes[following[0]] > cap, (
                        f"cap of {cap} B: a bucket of {held} B had room for the next"
                    )
