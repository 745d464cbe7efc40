"""Checks of `amp_step`, exercise 4 of lab 05."""

import math

from course.checks.engine.hint import hint
from course.checks.engine.reference import CLOSE, furthest
from course.checks.lab_05 import on_rank_amp_step as on_rank


class TestAmpStep:
    """Exercise 4: clipping and accumulation in the right places."""

    @hint(
        "a norm limit means something only for the gradient that the optimizer will see, "
        "of the whole batch"
    )
    def test_same_as_one_process(self, ranks):
        """Three clipped steps, of three parts, one and two, give the weights of one process on
        whole batches, at any scale.
        """
        for rank, results in enumerate(ranks(2, on_rank.stepped, (1.0, 4096.0))):
            wanted = on_rank.step_alone(2)[1]
            for factor, (_, got, _) in results.items():
                off = furthest(got, wanted)
                assert off < CLOSE, (
                    f"scale {factor:g}: rank {rank}'s weights are off by {off:.2g} after 3 steps"
                )

    @hint("clip_grad_norm_ returns the norm it found: of which gradients?")
    def test_norm(self, ranks):
        """The norm is that of the whole batch's gradient, unscaled, before clipping."""
        wanted = on_rank.step_alone(2)[0]
        for factor, (got, _, _) in ranks(2, on_rank.stepped, (1.0, 4096.0))[0].items():
            off = max(abs(a - b) for a, b in zip(got, wanted, strict=True))
            assert off < 1e-4, f"scale {factor:g}: the norms are {got} instead of {wanted}"

    @hint("DDP decides in forward whether the next backward will communicate")
    def test_messages(self, ranks):
        """DDP communicates once per step, and nobody else does."""
        _, _, steps = ranks(2, on_rank.stepped, (1.0,))[0][1.0]
        for step, (sent, messages) in enumerate(steps):
            assert sent == 1, f"in a step of {on_rank.PARTS[step]} parts DDP sends {sent} times"
            assert messages == 1, (
                f"in a step DDP sends once, and your code sends {messages - 1} times"
            )

    @hint("autocast belongs around forward and loss, for every part, and ends before backward")
    def test_autocast(self, ranks):
        """Every part's forward runs in the 16 bits asked for, backward outside autocast."""
        for wanted, (formats, inside, parts) in ranks(2, on_rank.formats)[0].items():
            assert parts == on_rank.PARTS[0], f"of {on_rank.PARTS[0]} parts the model sees {parts}"
            assert formats == {wanted}, (
                f"asked for {wanted}, a layer's output is {', '.join(sorted(formats))}"
            )
            assert inside == {False}, "backward runs inside autocast"

    @hint(
        "the scaler decides whether to step, and adapts in update(), once; "
        "bad gradients must not be left over"
    )
    def test_overflow(self, ranks):
        """A step that overflows on one rank is skipped on all, halves the scale once,
        and leaves no trace.
        """
        for rank, found in enumerate(ranks(2, on_rank.overflow)):
            assert not found["moved"], f"rank {rank} steps although a part has overflowed"
            assert not math.isfinite(found["norm"]), (
                f"rank {rank}: the norm of gradients that have overflowed is said to be "
                f"{found['norm']:g}"
            )
            assert found["scale"] == 32, (
                f"rank {rank}: after one overflow the scale goes from 64 to {found['scale']:g}"
            )
            assert not found["left"], f"rank {rank}: gradients are left over after the step"
            assert found["training"], f"rank {rank}: the model is left in eval mode"
            assert found["learns"], (
                f"rank {rank}: the good step after it does not change the weights as it should"
            )
            assert found["tracker"] == 1, (
                f"rank {rank}: after one good step the scaler counts {found['tracker']}"
            )
