"""Checks of sharded_state: checkpoints for any number of ranks."""

from course.checks.lab_10c import on_rank_sharded_state as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE


class TestShardedState:
    """Exercise 2: save what is sharded, and load it on other ranks."""

    @hint("Where does a parameter begin in the flat tensor, and which numbers are padding?")
    def test_whole(self, ranks):
        """whole() gives every rank the parameters in their shapes (2, 3 and 4 ranks)."""
        for world_size in (2, 3, 4):
            for shapes, expected, off in ranks(world_size, on_rank.gathered):
                assert shapes == expected, f"the shapes are {shapes} instead of {expected}"
                assert off == 0, f"{world_size} ranks: a number is off by {off:.2g}"

    @hint("Flatten with this run's padding, and take the part of your rank.")
    def test_part(self, ranks):
        """part() gives back this rank's shard (2, 3 and 4 ranks)."""
        for world_size in (2, 3, 4):
            for rank, (size, expected, off, _) in enumerate(ranks(world_size, on_rank.cut)):
                assert size == expected, (
                    f"rank {rank}'s part has {size} numbers instead of {expected}"
                )
                assert off == 0, (
                    f"{world_size} ranks: rank {rank}'s part differs from its shard by {off:.2g}"
                )

    @hint("A chunk is a view: as long as it lives, so does the whole flat tensor.")
    def test_own_memory(self, ranks):
        """The part that part() returns has memory of its own, and no more than it needs."""
        for size, _, _, memory in ranks(2, on_rank.cut):
            assert memory <= 4 * size, f"a part of {4 * size} bytes keeps {memory} bytes alive"

    @hint(
        "What is saved must not depend on the ranks that were there; whole() and part() see to it."
    )
    def test_resume(self, ranks):
        """Saved on two ranks and loaded on three, training goes on as one process would."""
        for kind in ("plain", "tied"):
            saved = ranks(2, on_rank.train, 0, 2, kind=kind)[0]
            expected = on_rank.train_alone(4, kind)
            for rank, got in enumerate(ranks(3, on_rank.train, 2, 4, state=saved, kind=kind)):
                off = max(float((got[n]["value"] - w).abs().max()) for n, w in expected.items())
                assert off < CLOSE, (
                    f"{kind} model: after 2 steps on 2 ranks and 2 on 3, "
                    f"rank {rank}'s weights are off by {off:.2g}"
                )
