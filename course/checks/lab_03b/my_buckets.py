"""Checks of my_buckets: DDP written by hand, with communication during backward."""

from collections.abc import Callable

from course.checks.lab_03.any_replica import AnyReplica
from course.checks.lab_03b import on_rank_my_buckets as on_rank
from course.checks.tools.hint import Undecided, hint
from course.checks.tools.reference import CLOSE


class TestMyBuckets(AnyReplica):
    """Exercise 1: communication during backward."""

    wrappers = ("Overlapped", "Bucketed")

    def compare_training(self, ranks: Callable, *case: object, **options: object) -> None:
        """As for every replica, but nothing is judged where sums are read before they are there."""
        try:
            super().compare_training(ranks, *case, **options)
        except AssertionError:
            for _, results in self.results(ranks, 2, on_rank.waited):
                if not max(off for _, off in results) < CLOSE:
                    raise Undecided("first, finish() must wait: see its check") from None
            raise

    @hint("Which gradient is ready first, and which function of yours is called then?")
    def test_starts_during_backward(self, ranks):
        """Messages begin before the first layer has its gradient, and backward waits for none."""
        for name, results in self.results(ranks, 2, on_rank.sent_early):
            for begun, asynchronous in results:
                assert begun > 0, f"{name}: nothing is sent before backward reaches the first layer"
                assert asynchronous, f"{name}: backward waits for a message instead of going on"
        for name, results in self.results(ranks, 2, on_rank.waited):
            for waits, _ in results:
                assert waits == 0, f"{name}: backward waits for {waits} messages on its way"

    @hint("When may the sum be read that an asynchronous all-reduce computes?")
    def test_waits(self, ranks):
        """finish() waits for every message before it uses the sum."""
        for name, results in self.results(ranks, 2, on_rank.waited):
            off = max(off for _, off in results)
            assert off < CLOSE, (
                f"{name}: where a sum comes only when it is waited for, "
                f"a gradient is off by {off:.2g}"
            )

    @hint("What has to be counted from the start again for the next backward?")
    def test_starts_again(self, ranks):
        """The second step overlaps like the first: its messages begin during backward, too."""
        for name, results in self.results(ranks, 2, on_rank.sent_early, steps=2):
            for begun, _ in results:
                assert begun > 0, (
                    f"{name}: in the second step nothing is sent "
                    "before backward reaches the first layer"
                )

    @hint("Count the buckets, then the calls of all_reduce: the two numbers should be equal.")
    def test_messages(self, ranks):
        """One message per bucket: as many as trained parameters in Overlapped, one in Bucketed
        with a large cap.
        """
        self.compare_messages(ranks, "Bucketed")

    @hint(
        "When the bucket in front becomes complete, how many complete buckets may wait behind it?"
    )
    def test_sends_in_turn(self, ranks):
        """Complete buckets wait for the one in front, then all of them go at once."""
        for name, results in self.results(ranks, 2, on_rank.in_reverse):
            for waiting, sent, buckets in results:
                assert waiting == 0, (
                    f"{name}: {waiting} messages are sent while the bucket in front is not complete"
                )
                assert sent == buckets, (
                    f"{name}: of {buckets} complete buckets {sent} are sent "
                    "when the last gradient comes, which is that of the bucket in front"
                )

    @hint(
        "Take three parameters and a cap on paper: "
        "which bucket does each go into, and how much room is left?"
    )
    def test_assign(self, ranks):
        """Buckets hold every trained parameter once, last layer first, within the cap unless one
        alone exceeds it (some parameters are float64).
        """
        # The first gradient is larger; two fit exactly; all fit; more than 1 MiB, some fit.
        for cap in (4, 56, 168, 10_000, 1_800_000):
            ((buckets, sizes, trained),) = ranks(1, on_rank.buckets, cap / 2**20)
            order = [i for bucket in buckets for i in bucket]
            assert order == sorted(order, reverse=True), (
                f"cap of {cap} B: the order of sending is {order}"
            )
            assert len(order) == trained, (
                f"cap of {cap} B: {len(order)} places for {trained} trained parameters"
            )
            for bucket, following in zip(buckets, [*buckets[1:], None], strict=True):
                assert bucket, f"cap of {cap} B: a bucket is empty"
                held = sum(sizes[i] for i in bucket)
                assert held <= cap or len(bucket) == 1, f"cap of {cap} B: a bucket holds {held} B"
                if following:
                    assert held + sizes[following[0]] > cap, (
                        f"cap of {cap} B: a bucket of {held} B had room for the next"
                    )
