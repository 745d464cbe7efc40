"""Checks of `amp_step`, exercise 2 of lab 05b."""

import math

from course.checks.lab_05b import on_rank_amp_step as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE, furthest


class TestAmpStep:
    """Exercise 2: clipping and accumulation in the right places."""

    @hint(
        "The optimizer sees one gradient: the mean over all parts and ranks, unscaled, and then "
        "clipped. Is one of these missing, or in another order?"
    )
    def test_same_as_one_process(self, ranks):
        """Three clipped steps, of three parts, one and two, give the weights of one process on
        whole batches, at any scale.
        """
        for rank, results in enumerate(ranks(2, on_rank.stepped, (1.0, 4096.0))):
            expected = on_rank.step_alone(2)[1]
            for factor, (_, got, _) in results.items():
                off = furthest(got, expected)
                assert off < CLOSE, (
                    f"scale {factor:g}: rank {rank}'s weights are off by {off:.2g} after 3 steps"
                )

    @hint(
        "clip_grad_norm_ returns the norm that it found: of which gradients? Does each part count "
        "for its share of the batch, on every rank?"
    )
    def test_norm(self, ranks):
        """The norm is that of the whole batch's gradient, unscaled, before clipping."""
        expected = on_rank.step_alone(2)[0]
        for factor, (got, _, _) in ranks(2, on_rank.stepped, (1.0, 4096.0))[0].items():
            off = max(abs(a - b) for a, b in zip(got, expected, strict=True))
            assert off < 1e-4, f"scale {factor:g}: the norms are {got} instead of {expected}"

    @hint("DDP decides in forward whether the next backward will communicate.")
    def test_messages(self, ranks):
        """DDP communicates once per step, and nobody else does."""
        _, _, steps = ranks(2, on_rank.stepped, (1.0,))[0][1.0]
        for step, (sent, messages) in enumerate(steps):
            parts = on_rank.PARTS[step]
            assert len(sent) == 1, f"in a step of {parts} parts DDP sends {len(sent)} times"
            assert sent == [parts], (
                f"in a step of {parts} parts DDP sends with part {sent[0]}: "
                "what comes after it stays on its rank"
            )
            assert messages == 1, (
                f"in a step DDP sends once, and your code sends {messages - 1} times"
            )

    @hint("Autocast belongs around forward and loss, for every part, and ends before backward.")
    def test_autocast(self, ranks):
        """Every part's forward and loss run under autocast to the format asked for, with float32
        weights; backward runs outside.
        """
        for expected, seen in ranks(2, on_rank.formats)[0].items():
            parts = on_rank.PARTS[0]
            assert seen["parts"] == parts, f"of {parts} parts the model sees {seen['parts']}"
            for what in ("a layer's output", "a product beside the loss"):
                got = ", ".join(sorted(seen[what]))
                assert seen[what] == {expected}, f"asked for {expected}, {what} is {got}"
            assert seen["weights"] == {"torch.float32"}, (
                f"asked for {expected}, the weights are {', '.join(sorted(seen['weights']))} in "
                "forward: autocast leaves them in float32"
            )
            assert seen["inside"] == {False}, "backward runs inside autocast"

    @hint("Leave the loss in float32: every gradient begins with what reaches the loss.")
    def test_loss(self, ranks):
        """Backward begins at each loss with the scale, or its part of it, in float32."""
        for dtype, seen in ranks(2, on_rank.formats)[0].items():
            scale, parts = on_rank.SCALE, on_rank.PARTS[0]
            for got in seen["gradients of the losses"]:
                near = min(abs(got / scale - 1), abs(got * parts / scale - 1))
                assert near < 1e-6, (
                    f"{dtype}: backward reaches a loss with {got:.8g}, which is neither the scale, "
                    f"{scale:.8g}, nor a share of one part in {parts}, {scale / parts:.8g}: "
                    "was the loss rounded to 16 bits?"
                )

    @hint(
        "The scaler decides whether to step, and adapts in update(), once. "
        "Bad gradients must not be left over."
    )
    def test_overflow(self, ranks):
        """A step that overflows on one rank is skipped on all, halves the scale once,
        and leaves no trace.
        """
        for rank, result in enumerate(ranks(2, on_rank.overflow)):
            assert not result["moved"], f"rank {rank} steps although a part has overflowed"
            assert not math.isfinite(result["norm"]), (
                f"rank {rank}: the norm of gradients that have overflowed is said to be "
                f"{result['norm']:g}"
            )
            assert result["scale"] == 32, (
                f"rank {rank}: after one overflow the scale goes from 64 to {result['scale']:g}"
            )
            assert not result["left"], f"rank {rank}: gradients are left over after the step"
            assert result["training"], f"rank {rank}: the model is left in eval mode"
            assert result["learns"], (
                f"rank {rank}: the good step after it does not change the weights as it should"
            )
            assert result["tracker"] == 1, (
                f"rank {rank}: after one good step the scaler counts {result['tracker']}"
            )
