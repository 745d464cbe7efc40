"""Checks of my_clip: the norm of sharded gradients, and one scale for all of them."""

import math

from course.checks.lab_10b import on_rank_my_clip as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE


class TestMyClip:
    """Exercise 2: clip what is sharded."""

    @hint("Add up squares over the shards and over the ranks, and take the root at the end.")
    def test_norm(self, ranks):
        """clip_grad_norm() returns the norm of all gradients on every rank (2 and 3 ranks)."""
        for world_size in (2, 3):
            for rank, (kind, got, norm, _) in enumerate(ranks(world_size, on_rank.clipped, 0.5)):
                assert kind == "Tensor", f"the norm is a {kind}; return a tensor, as torch does"
                assert abs(got - norm) < CLOSE * norm, (
                    f"{world_size} ranks: rank {rank} says {got:.4g}, the norm is {norm:.4g}"
                )

    @hint("All gradients are scaled by one factor, the limit over the norm.")
    def test_scale(self, ranks):
        """Gradients whose norm is over the limit are scaled down to it, the same on all ranks."""
        for rank, (*_, off) in enumerate(ranks(3, on_rank.clipped, 0.5)):
            assert off < 1e-4, f"the gradients on rank {rank} are off by {off:.2g} after clipping"

    @hint("Below the limit there is nothing to do.")
    def test_small_gradients(self, ranks):
        """Gradients whose norm is below the limit stay as they are, and the norm is returned."""
        for rank, (_, got, norm, off) in enumerate(ranks(2, on_rank.clipped, 2.0)):
            assert off < CLOSE, f"a gradient below the limit changed by {off:.2g}"
            assert abs(got - norm) < CLOSE * norm, (
                f"below the limit rank {rank} returns {got:.4g}, and the norm is {norm:.4g}"
            )

    @hint("However small the norm is, the factor is between 0 and 1.")
    def test_tiny_gradients(self, ranks):
        """Gradients next to zero stay as they are."""
        norm = 1e-7
        for rank, off in enumerate(ranks(2, on_rank.tiny, norm)):
            assert off < CLOSE * norm, (
                f"the norm is {norm:g} and the limit 1, but a gradient on rank {rank} "
                f"changed by {off:.2g}"
            )

    @hint("A gradient that is not finite must be seen: hide nothing from the sum.")
    def test_overflow(self, ranks):
        """An infinite gradient on one rank makes the norm infinite on every rank."""
        for rank, norm in enumerate(ranks(3, on_rank.overflowed)):
            assert not math.isfinite(norm), (
                f"rank 2 has an infinite gradient, and rank {rank} returns the norm {norm:.4g}"
            )
