"""The checks that every synchronous strategy of lab 07 has to pass."""

import functools

from course.checks.lab_07.any_reference import in_one_process, in_parts
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE, OPTIMIZERS, furthest

VERY_CLOSE = 1e-12  # the same as `CLOSE`, for double precision


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
                assert off < (VERY_CLOSE if kind == "double" else CLOSE), (
                    f"{replicas} replicas, {optimizer}, {kind} model, "
                    f"batches of {', '.join(map(str, sizes))}: the weights are off by {off:.2g}"
                )

    @hint(
        "An update needs the sum of this step's gradients over the replicas. "
        "Is anything missing, or left over from the step before?"
    )
    def test_same_as_one_process(self, ranks):
        """Training gives the weights of one process on the whole batch: with SGD, momentum, AdamW
        and a second parameter group, and in double precision.
        """
        runs = [("plain", optimizer) for optimizer in (*OPTIMIZERS, "SGD with two groups")]
        runs.append(("double", "SGD with momentum"))
        self.compare(ranks, 3, [(*run, (6, 6, 6)) for run in runs])

    @hint(
        "The loss of a share is already divided by `share.whole`. "
        "Do the gradients then need a sum or a mean?"
    )
    def test_uneven_batches(self, ranks):
        """It does so with uneven shares, of batches of 7 and 5 samples on 3 replicas."""
        self.compare(ranks, 3, [("plain", "SGD", (7, 5))])

    @hint(
        "A replica without samples has gradients, too: zeros. What does it need, so that it makes "
        "the update of the others?"
    )
    def test_empty_share(self, ranks):
        """It does so with a batch of 2 samples on 3 replicas, one of which has an empty share."""
        self.compare(ranks, 3, [("plain", "SGD", (2, 7))])

    @hint(
        "`trained(model)` leaves out frozen parameters, and lists a tied parameter only once. "
        "A frozen one keeps `.grad` None, or AdamW shrinks it."
    )
    def test_tied_and_frozen(self, ranks):
        """Tied parameters are added up once, frozen ones are left alone, also if the optimizer
        holds them.
        """
        runs = [("tied", "SGD"), ("frozen", "SGD"), ("frozen", "AdamW of all parameters")]
        self.compare(ranks, 2, [(*run, (6, 6)) for run in runs])

    @hint(
        "Only a parameter that the step does not use has `.grad` None; zeros are a gradient, too. "
        "AdamW shrinks every weight that has one."
    )
    def test_unused(self, ranks):
        """A trained parameter that the step does not use is left alone, as in one process, also
        if the step before has used it. One whose gradient is zero on the first replica is used.
        """
        self.compare(ranks, 2, [("unused", "AdamW", (6, 8, 2))])

    @hint("Each replica normalizes its own share. Gradients are added up, buffers are averaged.")
    def test_batch_norm(self, ranks):
        """With BatchNorm each replica normalizes its own share, and the running
        statistics are averaged.
        """
        in_halves = functools.partial(in_parts, parts=2)
        self.compare(ranks, 2, [("normed", "SGD", (8, 8))], in_halves)
