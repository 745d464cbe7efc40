"""Checks of zero_one: an optimizer whose state is shared out over the ranks."""

from collections.abc import Callable

from course.checks.lab_10 import on_rank_zero_one as on_rank
from course.checks.lab_10.any_sharded import compare
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE, OPTIMIZERS

# Parameters of very different sizes, in turns and with the largest first.
SIZES = (
    [100, 4, 101, 5, 102, 6, 103, 7, 104, 8, 105, 9],
    [105, 104, 103, 102, 101, 100, 9, 8, 7, 6, 5, 4],
)
EXACT = 1e-9  # nothing is averaged, so there is nothing to be rounded


class TestZeroOne:
    """Exercise 1: each rank keeps the optimizer state of its own parameters."""

    @hint("Who updates a parameter, and how do the others learn of it?")
    def test_same_as_one_process(self, ranks):
        """Training gives the weights of one process on the whole batch, for SGD, momentum and
        AdamW (2 and 3 ranks).
        """
        for world_size in (2, 3):
            trained = ranks(world_size, on_rank.train, [("plain", name) for name in OPTIMIZERS])
            compare(trained, world_size)

    @hint("Each parameter that is trained has one owner, however often the model uses it.")
    def test_tied_and_frozen(self, ranks):
        """Tied parameters are updated once, frozen ones are left alone."""
        compare(ranks(2, on_rank.train, [("tied", "AdamW"), ("frozen", "SGD")]), 2)

    @hint("A group is a dict: copy all of it, and replace only its list of parameters.")
    def test_groups(self, ranks):
        """Each group keeps its own learning rate and weight decay."""
        for rank, off in enumerate(ranks(2, on_rank.groups)):
            assert off < CLOSE, (
                f"with two groups of different options, rank {rank}'s weights are off by {off:.2g}"
            )

    @hint("Which parameters does your local optimizer get? Look into its `state` after a step.")
    def test_state_is_shared_out(self, ranks):
        """All ranks together keep AdamW's moments once, and only for what they own."""
        results = ranks(3, on_rank.state)
        total, trained = sum(elements for elements, _, _ in results), results[0][2]
        assert total == 2 * trained, (
            f"the ranks keep {total} numbers of state in all; "
            f"two moments for {trained} parameters are {2 * trained}"
        )
        for rank, (elements, owned, _) in enumerate(results):
            assert elements == 2 * owned, (
                f"rank {rank} owns {owned} numbers and keeps {elements} of state, not {2 * owned}"
            )

    @hint("Deal the parameters out one by one: who has the least so far?")
    def test_even_shares(self, ranks):
        """No rank owns more than the one with the least plus one largest parameter."""
        for world_size in (2, 3, 4):
            for sizes in SIZES:
                owners = ranks(world_size, on_rank.shares, sizes)[0]
                held = [0] * world_size
                for size, owner in zip(sizes, owners, strict=True):
                    held[owner] += size
                assert max(held) - min(held) <= max(sizes), (
                    f"{world_size} ranks own {held} numbers; the largest parameter has {max(sizes)}"
                )

    @hint("The owner may depend on nothing that differs between ranks.")
    def test_same_owners(self, ranks):
        """All ranks find the same owners."""
        first, *others = ranks(3, on_rank.shares, SIZES[0])
        for rank, owners in enumerate(others, start=1):
            assert owners == first, f"rank {rank} finds other owners than rank 0"
        (sent, *_) = ranks(2, on_rank.talks)
        assert not sent, (
            f"share_out calls {sent[0]}: each rank must find the owners without talking"
        )

    @hint("What do you send, and in which dtype does it travel?")
    def test_dtypes(self, ranks):
        """Parameters in float64 and bf16 are updated and saved to their last digit."""
        for rank, (off, got, expected) in enumerate(ranks(2, on_rank.in_other_dtypes)):
            assert got == expected, (
                f"rank {rank} saves the moments of parameters in float64, bf16 and float32 "
                f"as {', '.join(got)}"
            )
            assert off < EXACT, (
                f"rank {rank}: parameters in float64, bf16 and float32, or what is saved of them, "
                f"are off by {off:.2g}"
            )

    @hint("The place of a parameter in `self.parameters` is the same on any number of ranks.")
    def test_state_dict(self, ranks):
        """On every rank, state_dict() has what one optimizer of all parameters would have."""
        for optimizer in ("AdamW", "SGD with momentum"):
            self.compare_state(ranks, optimizer)
        for rank, places in enumerate(ranks(2, on_rank.saved_before_a_step)):
            assert places == [0, 1, 2], (
                f"before a step rank {rank} returns the places {places} instead of [0, 1, 2]"
            )

    @hint("A checkpoint is loaded on any device: where should its tensors lie?")
    def test_saved_on_the_cpu(self, ranks):
        """On GPUs, which are pretended, state_dict() has all of its tensors on the CPU."""
        for rank, elsewhere in enumerate(ranks(2, on_rank.saved_on_gpus, join=False)):
            assert not elsewhere, (
                f"on GPUs, rank {rank} sends {elsewhere[0]}: all tensors should be on the CPU"
            )

    def compare_state(self, ranks: Callable, optimizer: str) -> None:
        """What three ranks save is the state of one process."""
        _, expected = on_rank.resume_alone(2, optimizer)
        results = ranks(3, on_rank.resume, 0, 2, optimizer=optimizer)
        for rank, saved in enumerate(results):
            state = saved["optimizer"]
            assert sorted(state) == sorted(expected), (
                f"rank {rank} returns the places {sorted(state)} instead of {sorted(expected)}"
            )
            for place, entry in expected.items():
                assert set(state[place]) == set(entry), (
                    f"on rank {rank}, parameter {place} has {sorted(state[place])} "
                    f"instead of {sorted(entry)}"
                )
                for key, value in entry.items():
                    got = state[place][key]
                    assert got.shape == value.shape and float((got - value).abs().max()) < CLOSE, (
                        f"on rank {rank}, {key} of parameter {place} is not what "
                        "one process would have"
                    )

    @hint("What is saved must not depend on who owned what.")
    def test_resume(self, ranks):
        """Saved on two ranks and loaded on three, training goes on as one process would."""
        saved = ranks(2, on_rank.resume, 0, 2)[1]
        expected, _ = on_rank.resume_alone(4)
        for rank, got in enumerate(ranks(3, on_rank.resume, 2, 4, saved)):
            off = max(float((got["model"][n] - value).abs().max()) for n, value in expected.items())
            assert off < CLOSE, (
                f"after 2 steps on 2 ranks and 2 on 3, rank {rank}'s weights are off by {off:.2g}"
            )

    @hint("Torch's optimizers refuse an empty list; what does a rank do that owns nothing?")
    def test_more_ranks_than_parameters(self, ranks):
        """Five ranks share three parameters: two own nothing, and all have the same weights and
        the same saved state.
        """
        for rank, (off, places, needless) in enumerate(ranks(5, on_rank.few)):
            assert not needless, f"rank {rank} owns nothing, and `self.local` is not None"
            assert off < CLOSE, f"the weights on rank {rank} are off by {off:.2g}"
            assert places == [0, 1, 2], f"rank {rank} saves the state of the parameters {places}"

    @hint("An owner sends its parameter to all; no other rank has to send anything.")
    def test_traffic(self, ranks):
        """step() sends each trained parameter once."""
        for sent, most in ranks(3, on_rank.traffic):
            assert sent <= most, (
                f"a step sends {sent} bytes; {most} are enough, even if all shares are padded"
            )

    @hint("Build it from an optimizer of the class that you are given.")
    def test_own_work(self, ranks):
        """It does not hand the work to torch's ZeroRedundancyOptimizer."""
        for off in ranks(2, on_rank.without_library):
            assert off < CLOSE, f"the weights are off by {off:.2g}"
