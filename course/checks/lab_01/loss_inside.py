"""Checks of loss_inside: the loss inside forward."""

from course.checks.engine.hint import hint
from course.checks.engine.reference import CLOSE
from course.checks.lab_01 import on_rank_loss_inside as on_rank


class TestLossInside:
    """Exercise 2: the loss inside forward."""

    def compare(self, alone, *cases: tuple[int, int, int, int]) -> None:
        """Loss and gradients are those of the whole batch.

        `cases` are (samples, tokens of each, ignored labels, devices).
        """
        results = alone(on_rank.losses, list(cases))
        for case, (loss, gradient) in zip(cases, results, strict=True):
            described = _described(*case)
            assert loss < CLOSE, f"{described}: the loss is off by {loss:.2g}"
            assert gradient < CLOSE, f"{described}: the gradients are off by {gradient:.2g}"

    @hint("on two devices the sum of everything is the sum of two sums")
    def test_even(self, alone):
        """Loss and gradients are those of the whole batch for equal shares (2 and 4 devices)."""
        self.compare(alone, (8, 0, 0, 2), (8, 0, 0, 4))

    @hint("what are the weights of the samples in your mean? They should all be 1/5 for 5 samples")
    def test_uneven(self, alone):
        """They are for uneven shares: 5 samples on 2 devices, 7 on 3, 5 on 4."""
        self.compare(alone, (5, 0, 0, 2), (7, 0, 0, 3), (5, 0, 0, 4))

    @hint("a share of nothing, and a world of one device: is anything divided that should not be?")
    def test_one(self, alone):
        """They are on one device, and for a single sample."""
        self.compare(alone, (4, 0, 0, 1), (1, 0, 0, 3))

    @hint("a label a token: how many labels does a share have?")
    def test_tokens(self, alone):
        """They are with a label for each token: 6 sequences on 2 devices, 5 on 3."""
        self.compare(alone, (6, 4, 0, 2), (5, 4, 0, 3))

    @hint("count the labels that count, not the samples")
    def test_ignored(self, alone):
        """They are when labels of -100 are ignored, unequally many on each device."""
        self.compare(alone, (6, 4, 7, 2), (8, 0, 3, 2))

    @hint("what is the mean of nothing? Where must it not be computed?")
    def test_ignored_share(self, alone):
        """They are when one device has no label that counts."""
        self.compare(alone, (4, 3, 6, 2), (6, 0, 2, 3))

    @hint("return what the loss of the batch needs, and no more")
    def test_small_output(self, alone):
        """A device returns a few numbers, however large its logits are."""
        count = alone(on_rank.numbers, 16, 8)
        assert count <= 4, f"a device with 16 sequences of 8 tokens returns {count} numbers"


def _described(samples: int, tokens: int, ignored: int, devices: int) -> str:
    size = f"{samples} samples"
    if tokens:
        size += f" of {tokens} tokens"
    if ignored:
        size += f", {ignored} labels ignored,"
    return f"{size} on {devices} devices"
