"""The checks that every synchronous strategy of lab 07 has to pass."""

import functools

from course.checks.engine.hint import hint
from course.checks.engine.reference import CLOSE, OPTIMIZERS, furthest
from course.checks.lab_07.any_reference import in_one_process, in_parts


class AnySynchronous:
    """What holds for every synchronous strategy."""

    def trained(self, ranks, replicas: int, runs: list[tuple]) -> list:
        """What `on_rank_strategy.train` returns on each rank that the strategy is made of."""
        raise NotImplementedError

    def compare(self, ranks, replicas: int, runs: list[tuple], reference=in_one_process) -> None:
        """All copies end each run (kind, optimizer, batch sizes) with the reference's weights."""
        for results in self.trained(ranks, replicas, runs):
            for (kind, optimizer, sizes), copies in zip(runs, results, strict=True):
                off = max(furthest(copy, reference(kind, optimizer, sizes)) for copy in copies)
                assert off < CLOSE, (
                    f"{replicas} replicas, {optimizer}, {kind} model, "
                    f"batches of {', '.join(map(str, sizes))}: the weights are off by {off:.2g}"
                )

    @hint(
        "gradients of one step: their sum over the replicas, and nothing left from the step before"
    )
    def test_same_as_one_process(self, ranks):
        """Training gives the weights of one process on the whole batch, for SGD, momentum and
        AdamW.
        """
        self.compare(ranks, 3, [("plain", optimizer, (6, 6, 6)) for optimizer in OPTIMIZERS])

    @hint("a share's loss is divided by `share.whole`: so the gradients need a sum, not a mean")
    def test_uneven_batches(self, ranks):
        """It does so with batches of 7, 5 and 2 samples on 3 replicas: uneven shares, one of them
        empty.
        """
        self.compare(ranks, 3, [("plain", "SGD", (7, 5, 2))])

    @hint("`trained(model)` leaves out what is frozen and names a tied parameter once")
    def test_tied_and_frozen(self, ranks):
        """Tied parameters are added up once, frozen ones are left alone."""
        self.compare(ranks, 2, [(kind, "SGD", (6, 6)) for kind in ("tied", "frozen")])

    @hint("each replica normalizes its own share; gradients are summed, buffers averaged")
    def test_batch_norm(self, ranks):
        """BatchNorm is the exception: each replica normalizes its own share; statistics are
        averaged.
        """
        in_halves = functools.partial(in_parts, parts=2)
        self.compare(ranks, 2, [("normed", "SGD", (8, 8))], in_halves)
