"""Checks of my_buckets: DDP written by hand, with communication during backward."""

from course.checks.engine.hint import hint
from course.checks.engine.reference import CLOSE, Small
from course.checks.lab_03 import on_rank_my_buckets as on_rank
from course.checks.lab_03.any_replica import AnyReplica
from course.checks.lab_03.on_rank_replica import messages


class TestMyBuckets(AnyReplica):
    """Exercise 3: communication during backward."""

    wrappers = ("Overlapped", "Bucketed")

    @hint("which gradient is ready first, and which function of yours is called then?")
    def test_starts_during_backward(self, ranks):
        """Messages begin before the first layer has its gradient, and backward waits for none."""
        for name, results in self.each(ranks, 2, on_rank.sent_early):
            for begun, asynchronous in results:
                assert begun > 0, f"{name}: nothing is sent before backward reaches the first layer"
                assert asynchronous, f"{name}: backward waits for a message instead of going on"
        for name, results in self.each(ranks, 2, on_rank.waited):
            for waits, _ in results:
                assert waits == 0, f"{name}: backward waits for {waits} messages on its way"

    @hint("when may the sum be read that an asynchronous all-reduce computes?")
    def test_waits(self, ranks):
        """finish() waits for every message before it uses the sum."""
        for name, results in self.each(ranks, 2, on_rank.waited):
            off = max(off for _, off in results)
            assert off < CLOSE, (
                f"{name}: where a sum comes only when it is waited for, "
                f"a gradient is off by {off:.2g}"
            )

    @hint("what has to be counted from the start again for the next backward?")
    def test_starts_again(self, ranks):
        """The second step overlaps like the first: its messages begin during backward, too."""
        for name, results in self.each(ranks, 2, on_rank.sent_early, steps=2):
            for begun, _ in results:
                assert begun > 0, (
                    f"{name}: in the second step nothing is sent "
                    "before backward reaches the first layer"
                )

    @hint("count the buckets, then the calls of all_reduce: the two numbers should be equal")
    def test_messages(self, ranks):
        """One message per bucket: as many as parameters in Overlapped, one in Bucketed with a
        large cap.
        """
        parameters = len(list(Small(seed=0).parameters()))
        for name, sent in self.each(ranks, 2, messages):
            self.compare_messages(name, sent[0], 1 if name == "Bucketed" else parameters)

    @hint(
        "take three parameters and a cap on paper: "
        "which bucket does each go into, and how much room is left?"
    )
    def test_assign(self, ranks):
        """Buckets hold every trained parameter once, last layer first, within the cap unless one
        alone exceeds it (some parameters are float64).
        """
        for cap in (48, 170, 10_000):
            ((buckets, sizes, trained),) = ranks(1, on_rank.buckets, cap / 2**20)
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
