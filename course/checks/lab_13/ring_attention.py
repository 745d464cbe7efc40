"""Checks of ring_attention: exact attention of a sequence that is split over ranks."""

from collections.abc import Callable

from torch import Tensor

from course.checks.lab_13 import on_rank_ring_attention as on_rank
from course.checks.tools.hint import Failure, Undecided, hint
from course.checks.tools.reference import CLOSE
from course.core import words

SHAPES = [(1, on_rank.IN_ORDER), (2, on_rank.ZIGZAG), (3, on_rank.IN_ORDER), (3, on_rank.ZIGZAG)]
PARTS = ("top", "total", "weighted")
MERGE = (
    "Both sums are relative to the largest score of their own part. "
    "By what must each be multiplied to be relative to the largest of both?"
)
OVERFLOW = "exp(100) is infinite in float32: relative to which score are all exponentials ≤ 1?"
ROUND = (
    "After `step` passes, a rank holds the keys of the rank that is `step` places before it. "
    "Which row of `places` is theirs?"
)
GRADIENTS = (
    "Every rank adds what it knows of the gradients of a block to the two that travel with it. "
    "After how many passes is a block back with its owner?"
)


class TestRingAttention:
    """Exercise 1: keys and values go round."""

    @hint(MERGE)
    def test_merge(self, alone):
        """Attention to two parts of the keys, merged, is attention to all of them."""
        if wrong := self.merge(alone, 1.0):
            raise Failure(wrong)
        assert alone(on_rank.kept_parts), "merge changes the parts that it is given"

    @hint(OVERFLOW)
    def test_large_scores(self, alone):
        """Scores of several hundred are merged without an overflow."""
        if self.merge(alone, 1.0):
            raise Undecided("merge is not right yet for small scores")
        if wrong := self.merge(alone, 300.0):
            raise Failure(wrong, OVERFLOW)

    @hint(ROUND)
    def test_output(self, ranks, alone):
        """The output is that of one process, on one to three ranks."""
        if self.merge(alone, 1.0):
            raise Undecided("merge is not right yet")
        for size, order in SHAPES:
            if wrong := self.output(ranks, size, order):
                raise Failure(wrong, ROUND)

    @hint(GRADIENTS)
    def test_gradients(self, ranks, alone):
        """The gradients of queries, keys and values are those of one process."""
        for size, order in SHAPES:
            if self.merge(alone, 1.0) or self.output(ranks, size, order):
                raise Undecided("the output is not right yet")
            results = ranks(size, on_rank.attention, order=order)
            if wrong := self.wrong(results, size, on_rank.RESULTS[1:], order):
                raise Failure(wrong, GRADIENTS)

    @hint("`pass_on` takes the group; which number of ranks, and which rank, count in it?")
    def test_group(self, ranks, alone):
        """Two groups of two ranks, each with a sequence of its own, do not mix."""
        results = ranks(2, on_rank.attention)
        if self.merge(alone, 1.0) or self.wrong(results, 2, on_rank.RESULTS):
            raise Undecided("one group is not right yet: see the checks above")
        wrong = self.wrong(ranks(4, on_rank.attention, 2), 2, on_rank.RESULTS)
        assert not wrong, wrong

    @hint("The own block need not travel before it is used, and must come home only in backward.")
    def test_messages(self, ranks):
        """On N ranks, N-1 passes of keys and values in forward, N with gradients in backward."""
        size = 3
        block = on_rank.SAMPLES * on_rank.HEADS * on_rank.LENGTH // size * on_rank.WIDTH
        most = {"forward": (size - 1) * 2 * block, "backward": size * 4 * block}
        for rank, (seen, made) in enumerate(ranks(size, on_rank.messages)):
            assert not made, f"rank {rank} makes a process group; the one that it is given will do"
            for way, calls in seen.items():
                others = sorted({name for name, _ in calls} - {"send", "recv"})
                assert not others, f"in {way}, it calls {', '.join(others)}; only blocks travel"
                sent = [elements for name, elements in calls if name == "send"]
                assert sum(sent) <= most[way], (
                    f"{words.plural(size, 'rank')}: in {way}, rank {rank} sends {sum(sent)} "
                    f"numbers; {most[way]} will do"
                )

    def merge(self, alone: Callable, scale: float) -> str:
        """How a merge of two parts differs from attention to all keys; "" if it does not."""
        for got, expected in alone(on_rank.merged, scale):
            for name, mine, right in zip(PARTS, got, expected, strict=True):
                if wrong := off(mine, right):
                    return f"with scores of about {scale:g}, `{name}` of the merged parts {wrong}"
        return ""

    def output(self, ranks: Callable, size: int, order: str) -> str:
        """How the outputs differ from those of one process; "" if they do not."""
        results = ranks(size, on_rank.attention, order=order)
        return self.wrong(results, size, on_rank.RESULTS[:1], order)

    def wrong(
        self, results: list[dict], size: int, names: tuple[str, ...], order: str = on_rank.ZIGZAG
    ) -> str:
        """How what the ranks found differs from one process's; "" if it does not."""
        for rank, got in enumerate(results):
            expected = on_rank.whole(rank, size, order)
            for name in names:
                if wrong := off(got[name], expected[name]):
                    groups = f"groups of {words.plural(size, 'rank')}, tokens {order}"
                    return f"{groups}: the {name} {wrong} on rank {rank}"
        return ""


def off(got: Tensor, expected: Tensor) -> str:
    """How a tensor differs from the expected one, relative to its numbers; "" if it does not."""
    if got.shape != expected.shape:
        return f"has the shape {tuple(got.shape)} instead of {tuple(expected.shape)}"
    if not got.isfinite().all():
        return "is not finite"
    difference = float(((got - expected).abs() / expected.abs().clamp(min=1)).max())
    return "" if difference < CLOSE else f"is off by {difference:.2g}"
