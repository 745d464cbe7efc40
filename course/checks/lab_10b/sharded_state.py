"""Checks of sharded_state: the norm of sharded gradients, and checkpoints for any ranks."""

import math

from course.checks.lab_10b import on_rank_sharded_state as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE


class TestShardedState:
    """Exercise 2: clip, save and resume what is sharded."""

    @hint("Add up squares over the shards and over the ranks, and take the root at the end.")
    def test_norm(self, ranks):
        """clip_grad_norm() returns the norm of all gradients on every rank (2 and 3 ranks)."""
        for world_size in (2, 3):
            for rank, (kind, said, norm, _) in enumerate(ranks(world_size, on_rank.clipped, 0.5)):
                assert kind == "Tensor", f"the norm is a {kind}; return a tensor, as torch does"
                assert abs(said - norm) < CLOSE * norm, (
                    f"{world_size} ranks: rank {rank} says {said:.4g}, the norm is {norm:.4g}"
                )

    @hint("All gradients are scaled by one factor, the limit over the norm.")
    def test_scale(self, ranks):
        """Gradients whose norm is over the limit are scaled down to it, the same on all ranks."""
        for rank, (*_, off) in enumerate(ranks(3, on_rank.clipped, 0.5)):
            assert off < 1e-4, f"the gradients on rank {rank} are off by {off:.2g} after clipping"

    @hint("Below the limit there is nothing to do.")
    def test_small_gradients(self, ranks):
        """Gradients whose norm is below the limit stay as they are."""
        for *_, off in ranks(2, on_rank.clipped, 2.0):
            assert off < CLOSE, f"a gradient below the limit changed by {off:.2g}"

    @hint("A gradient that is not finite must be seen: hide nothing from the sum.")
    def test_overflow(self, ranks):
        """An infinite gradient on one rank makes the norm infinite on every rank."""
        for rank, norm in enumerate(ranks(3, on_rank.overflowed)):
            assert not math.isfinite(norm), (
                f"rank 2 has an infinite gradient, and rank {rank} returns the norm {norm:.4g}"
            )

    @hint("Where does a parameter begin in the flat tensor, and which numbers are padding?")
    def test_whole(self, ranks):
        """whole() gives every rank the parameters in their shapes (2, 3 and 4 ranks)."""
        for world_size in (2, 3, 4):
            for shapes, wanted, off in ranks(world_size, on_rank.gathered):
                assert shapes == wanted, f"the shapes are {shapes} instead of {wanted}"
                assert off == 0, f"{world_size} ranks: a number is off by {off:.2g}"

    @hint("Flatten with this run's padding, and take the part of your rank.")
    def test_part(self, ranks):
        """part() gives back this rank's shard (2, 3 and 4 ranks)."""
        for world_size in (2, 3, 4):
            for rank, (size, wanted, off, _) in enumerate(ranks(world_size, on_rank.cut)):
                assert size == wanted, f"rank {rank}'s part has {size} numbers instead of {wanted}"
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
            wanted = on_rank.train_alone(4, kind)
            for rank, got in enumerate(ranks(3, on_rank.train, 2, 4, state=saved, kind=kind)):
                off = max(float((got[n]["value"] - w).abs().max()) for n, w in wanted.items())
                assert off < CLOSE, (
                    f"{kind} model: after 2 steps on 2 ranks and 2 on 3, "
                    f"rank {rank}'s weights are off by {off:.2g}"
                )
