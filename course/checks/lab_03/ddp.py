"""Checks of ddp: the single-process script, made distributed."""

from course.checks.lab_03 import on_rank_ddp as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import furthest


class TestDdp:
    """Exercise 1: the single-process script, made distributed."""

    @hint("`init_process_group` finds the rank and the world size in the environment.")
    def test_joins(self, ranks):
        """setup() joins all ranks in a group and picks the CPU where there is no GPU."""
        for device, world_size in ranks(3, on_rank.setup, join=False):
            assert device == "cpu", f"the device is {device} on a machine without a GPU"
            assert world_size == 3, f"a rank sees a world of {world_size} instead of 3"

    @hint(
        "The rank counts over all machines, the local rank within one; NCCL uses the *current* GPU."
    )
    def test_gpu(self, ranks):
        """On two pretended nodes with two GPUs each, setup() takes the GPU of LOCAL_RANK, makes it
        current, and uses NCCL.
        """
        for rank, result in enumerate(ranks(4, on_rank.setup_on_gpus, join=False)):
            who, own = f"rank {rank}, local rank {result['local rank']},", f"cuda:{rank % 2}"
            assert result["device"] == own, f"{who} uses {result['device']} instead of {own}"
            assert result["current"] == own, (
                f"{who} has {result['current']} as its current GPU: call torch.cuda.set_device"
            )
            assert "cuda:nccl" in result["backends"], (
                f"the group's backends are {result['backends']}: GPUs should use NCCL"
            )
            assert result["world size"] == 4, (
                f"{who} sees a world of {result['world size']} instead of 4"
            )

    @hint("Every rank of a machine must come to the same answer, so compare what all of them see.")
    def test_too_few_gpus(self, ranks):
        """With one GPU for the two ranks of a machine, setup() picks the CPU."""
        (device,) = ranks(1, on_rank.setup_with_a_gpu_for_one_of_two, join=False)
        assert device == "cpu", (
            f"with one GPU for two ranks, local rank 0 uses {device}, but the other has none: both "
            "must use the CPU"
        )

    @hint("Read what DDP's documentation says about `device_ids`.")
    def test_wrap(self, alone):
        """wrap() gives DDP the GPU of this rank, and no device_ids on the CPU."""
        gpus, cpu = alone(on_rank.wrapped)
        assert gpus == [1], f"on cuda:1 DDP is given device_ids {gpus}"
        assert cpu is None, f"on the CPU DDP is given device_ids {cpu}"

    @hint("What deals the samples out to the ranks?")
    def test_shares(self, ranks):
        """In an epoch 2 ranks draw each of 24 samples once; of 25 samples, 3 ranks draw equally
        many.
        """
        by_rank = ranks(2, on_rank.drawn, 24, shuffle=True)
        drawn = [index for of_rank in by_rank for index in of_rank]
        assert sorted(drawn) == list(range(24)), (
            f"2 ranks drew {len(set(drawn))} different samples of 24, {len(drawn)} in all"
        )
        by_rank = ranks(3, on_rank.drawn, 25, shuffle=True)
        counts = [len(of_rank) for of_rank in by_rank]
        assert len(set(counts)) == 1, (
            f"of 25 samples, 3 ranks drew {counts}: the one with more would wait for the others"
        )
        different = len({index for of_rank in by_rank for index in of_rank})
        assert different >= 24 and sum(counts) <= 27, (
            f"of 25 samples, 3 ranks drew {different} different ones, {sum(counts)} in all"
        )

    @hint("What does your sampler do with the argument `shuffle`?")
    def test_in_order(self, ranks):
        """With shuffle=False every rank draws its share in the order of the data set."""
        for rank, drawn in enumerate(ranks(2, on_rank.drawn, 24, shuffle=False)):
            assert drawn == sorted(drawn), f"with shuffle=False rank {rank} draws {drawn}"

    @hint("The sampler's order depends on its seed and the epoch it was told.")
    def test_reshuffles(self, ranks):
        """The samples are shuffled, differently in each of three epochs."""
        names = ("setup", "wrap", "accuracy")
        drawn = ranks(2, on_rank.main, 3, 24, given=names)[0]["drawn"]
        epochs = [drawn[start : start + 12] for start in (0, 12, 24)]
        assert epochs[0] != sorted(epochs[0]), "the samples come in the order of the data set"
        for epoch, order in enumerate(epochs):
            assert epochs.index(order) == epoch, (
                "rank 0 draws the same samples in the same order "
                f"in the epochs {epochs.index(order)} and {epoch}"
            )

    @hint("Is the model that you train the one that DDP returned?")
    def test_same_weights(self, ranks):
        """After training, all ranks hold the same weights."""
        results = ranks(3, on_rank.main, 1, 24, given=("setup", "accuracy"))
        first, *others = (result["weights"] for result in results)
        for rank, other in enumerate(others, start=1):
            assert furthest(first, other) == 0, (
                f"rank {rank}'s weights differ from rank 0's by {furthest(first, other):.2g}"
            )

    @hint("DDP averages the gradients; nothing else has to be scaled.")
    def test_same_as_one_process(self, ranks):
        """The whole script gives the weights of one process on the whole batch."""
        results = ranks(2, on_rank.main, 1, 24, join=False)
        expected = on_rank.one_process([result["drawn"] for result in results], 24)
        off = furthest(results[0]["weights"], expected)
        assert off < 1e-4, f"the weights are off by {off:.2g} after 3 steps"

    @hint("Ten pairs on four ranks: who looks at how many, and what do the counts add up to?")
    def test_accuracy(self, ranks):
        """accuracy() looks at each of 10 pairs, and of 803, once with 4 ranks, and says the same
        right number on all.
        """
        for size, right in ((10, 4), (803, 268)):
            results = ranks(4, on_rank.accuracy, size)
            drawn = sorted(index for result in results for index in result["drawn"])
            assert drawn == list(range(size)), (
                f"of {size} pairs, the ranks together looked at {len(set(drawn))}, "
                f"{len(drawn)} times in all"
            )
            shares = [result["share"] for result in results]
            assert max(abs(share - right / size) for share in shares) < 1e-6, (
                f"{right} of {size} are right, {right / size:.4f}; the ranks say {shares}"
            )
            forwards = [result["forwards"] for result in results]
            assert len(set(forwards)) == 1, (
                f"the ranks call DDP's forward {forwards} times, and each such call may send: "
                "the ranks with more would wait for the others"
            )

    @hint("Dropout and batch norm behave differently in evaluation: switch there and back.")
    def test_trains_on(self, ranks):
        """accuracy() asks the model in evaluation mode and leaves it in training mode."""
        for result in ranks(2, on_rank.accuracy, 4):
            assert not result["asked in training"], "the model is evaluated in training mode"
            assert result["trains on"], "the model is left in evaluation mode"
