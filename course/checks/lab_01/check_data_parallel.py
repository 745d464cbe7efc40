"""Checks of lab 01: DataParallel from its four primitives, and the loss inside forward."""

from course.checks.engine.catalogue import hint
from course.checks.lab_01 import on_rank as on_rank

CLOSE = 1e-5  # float32, different orders of summation


class TestDataParallel:
    """Exercise 1: the forward pass on several devices."""

    exercise = "data_parallel"

    def compare(self, ranks, *cases: tuple[int, int], kinds: tuple[str, ...] = ("plain",)) -> None:
        """Outputs and gradients for each (samples, devices) are those of the model on the whole batch."""
        models = [(*case, kind) for kind in kinds for case in cases]
        results = ranks(1, on_rank.compared, models, join=False)[0]
        for (samples, devices, _), (output, gradient) in zip(models, results, strict=True):
            told = f"{samples} samples on {devices} devices"
            assert output < CLOSE, f"{told}: the output is off by {output:.2g}"
            assert gradient < CLOSE, f"{told}: the gradients are off by {gradient:.2g}"

    def nest(self, ranks, kind: str) -> None:
        """Nested inputs or outputs (the `kind`) are right for several numbers of samples and devices."""
        cases = [(6, 2), (5, 3), (1, 2)]
        for (samples, devices), wrong in zip(
            cases, ranks(1, on_rank.nested, cases, kind, join=False)[0], strict=True
        ):
            assert not wrong, f"{samples} samples on {devices} devices: {wrong}"

    @hint(
        "autograd goes back through your operations by itself, as long as nothing is detached or scaled"
    )
    def test_same_as_one_device(self, ranks):
        """Outputs and gradients are those of the model on the whole batch (2 and 4 devices)."""
        self.compare(ranks, (8, 2), (8, 4))

    @hint("gradients of all replicas, the master's too, belong to the same parameters")
    def test_tied_and_frozen(self, ranks):
        """Tied and frozen parameters get the gradients that they get on one device."""
        self.compare(ranks, (6, 3), kinds=("tied", "frozen"))

    @hint(
        "`scatter` makes the pieces; how large is the last one, and how many are there of 5 samples on 4 devices?"
    )
    def test_uneven(self, ranks):
        """A batch that the number of devices does not divide: 7 on 3, 5 on 4, 3 on 2."""
        self.compare(ranks, (7, 3), (5, 4), (3, 2))

    @hint("count the shares before you replicate")
    def test_small_batch(self, ranks):
        """A batch smaller than the number of devices: 1 on 2, 1 on 4, 2 on 3."""
        self.compare(ranks, (1, 2), (1, 4), (2, 3))

    @hint("one device is a list of devices too")
    def test_one_device(self, ranks):
        """It works on one device."""
        self.compare(ranks, (4, 1), (1, 1))

    @hint(
        "what does the next forward pass use: the parameters as the optimizer left them, or older copies?"
    )
    def test_training(self, ranks):
        """Three steps of AdamW leave the weights that one device has."""
        off = ranks(1, on_rank.trained, 3, join=False)[0]
        assert off < CLOSE, f"3 devices: after 3 steps the weights are off by {off:.2g}"

    @hint("replicate first; then each share goes to the replica of its own device")
    def test_replicas(self, ranks):
        """Each device runs a replica with memory of its own, on its share: 5 samples on 3 devices."""
        seen = ranks(1, on_rank.replicas, 5, 3, join=False)[0]
        assert not seen["bare"], "the module itself runs, not a replica of it"
        assert seen["samples"] == [1, 2, 2], (
            f"the samples that each forward pass saw are {seen['samples']}"
        )
        assert seen["places"] == 3, f"3 devices use weights in {seen['places']} places in memory"

    @hint("what runs the replicas, each in a thread?")
    def test_threads(self, ranks):
        """The replicas run at the same time: each waits in forward until all have come."""
        seen = ranks(1, on_rank.replicas, 6, 3, together=3, join=False)[0]
        assert seen["threads"] == 3, f"3 replicas ran in {seen['threads']} threads"

    @hint("split each entry of a container; the shares of one device make a container like it")
    def test_nested_inputs(self, ranks):
        """Tensors in dicts, lists and tuples, and by name, reach their replica in the same place."""
        self.nest(ranks, "inputs")

    @hint("BERT's batches have names only: what are `args` then?")
    def test_by_name(self, ranks):
        """A call with named tensors only works, and so it does for BERT."""
        off = ranks(1, on_rank.only_by_name, 2, join=False)[0]
        assert off < CLOSE, f"the output is off by {off:.2g}"

    @hint("what has no first dimension cannot be cut: give it to everyone")
    def test_constants(self, ranks):
        """Flags, strings, None and empty containers reach every replica as they are."""
        wrong = ranks(1, on_rank.constants, 3, join=False)[0]
        assert not wrong, wrong[0]

    @hint(
        "join what stands in the same place of each output; keep the kind of container and its order"
    )
    def test_nested_outputs(self, ranks):
        """Outputs in dicts, lists and tuples are joined, each entry in its place, of the same kind."""
        self.nest(ranks, "outputs")


class TestLossInside:
    """Exercise 2: the loss inside forward."""

    exercise = "loss_inside"

    def compare(self, ranks, *cases: tuple[int, int, int, int]) -> None:
        """Loss and gradients for each (samples, tokens, ignored labels, devices) are those of the whole batch."""
        results = ranks(1, on_rank.losses, list(cases), join=False)[0]
        for (samples, tokens, ignored, devices), (loss, gradient) in zip(
            cases, results, strict=True
        ):
            of = (
                f" of {tokens} tokens, {ignored} labels ignored,"
                if ignored
                else f" of {tokens} tokens" * bool(tokens)
            )
            told = f"{samples} samples{of} on {devices} devices"
            assert loss < CLOSE, f"{told}: the loss is off by {loss:.2g}"
            assert gradient < CLOSE, f"{told}: the gradients are off by {gradient:.2g}"

    @hint("on two devices the sum of everything is the sum of two sums")
    def test_even(self, ranks):
        """Loss and gradients are those of the whole batch for equal shares (2 and 4 devices)."""
        self.compare(ranks, (8, 0, 0, 2), (8, 0, 0, 4))

    @hint("what are the weights of the samples in your mean? They should all be 1/5 for 5 samples")
    def test_uneven(self, ranks):
        """They are for uneven shares: 5 samples on 2 devices, 7 on 3, 5 on 4."""
        self.compare(ranks, (5, 0, 0, 2), (7, 0, 0, 3), (5, 0, 0, 4))

    @hint("a share of nothing, and a world of one device: is anything divided that should not be?")
    def test_one(self, ranks):
        """They are on one device, and for a single sample."""
        self.compare(ranks, (4, 0, 0, 1), (1, 0, 0, 3))

    @hint("a label a token: how many labels does a share have?")
    def test_tokens(self, ranks):
        """They are with a label for each token: 6 sequences on 2 devices, 5 on 3."""
        self.compare(ranks, (6, 4, 0, 2), (5, 4, 0, 3))

    @hint("count the labels that count, not the samples")
    def test_ignored(self, ranks):
        """They are when labels of -100 are ignored, unequally many on each device."""
        self.compare(ranks, (6, 4, 7, 2), (8, 0, 3, 2))

    @hint("what is the mean of nothing? Where must it not be computed?")
    def test_ignored_share(self, ranks):
        """They are when one device has no label that counts."""
        self.compare(ranks, (4, 3, 6, 2), (6, 0, 2, 3))

    @hint("return what the loss of the batch needs, and no more")
    def test_small_output(self, ranks):
        """A device returns a few numbers, however large its logits are."""
        count = ranks(1, on_rank.numbers, 16, 8, join=False)[0]
        assert count <= 4, f"a device with 16 sequences of 8 tokens returns {count} numbers"
