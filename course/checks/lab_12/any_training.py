"""The checks that local SGD and DiLoCo have in common."""

from collections.abc import Callable

from course.checks.lab_12 import any_simulated
from course.checks.lab_12 import on_rank_training as on_rank
from course.checks.runner.catalogue import exercise_of
from course.checks.tools.hint import Failure, hint
from course.checks.tools.loose_ends import undecided_where_wrong
from course.checks.tools.reference import CLOSE, furthest
from course.core import words

ONE_MESSAGE = "A barrier costs messages as well. Which call already waits for all ranks?"


class AnyTraining:
    """The checks of an exercise whose ranks train alone and meet after some steps."""

    outer: tuple[float, float]  # the rate and momentum with which the ranks meet

    def compare(
        self, ranks: Callable, world_size: int, cases: list, every: int, steps: int, **options
    ) -> None:
        """Hold the weights of every rank to those of one process that plays all ranks."""
        trained = ranks(
            world_size, on_rank.train, exercise_of(self), cases, every, steps, **options
        )
        outer = (options["rate"], options["momentum"]) if options else self.outer
        for optimizer, kind in cases:
            expected = any_simulated.replicas(world_size, optimizer, every, steps, kind, outer)
            for rank, got in enumerate(trained):
                off = furthest(got[optimizer, kind], expected[rank])
                assert off < CLOSE, (
                    f"{words.plural(world_size, 'rank')}, {optimizer}, {kind} model, "
                    f"a meeting after every {every}: after {steps} steps "
                    f"rank {rank}'s weights are off by {off:.2g}"
                )

    @hint("Before the first meeting no rank knows of another. What does a step consist of then?")
    def test_alone(self, ranks):
        """Until the first meeting each rank trains by itself, as without the others."""
        self.compare(ranks, 2, [("SGD with momentum", "plain")], every=5, steps=4)

    @hint("Follow one weight through a meeting: what do all ranks have afterwards?")
    def test_same_as_one_process(self, ranks):
        """After several meetings, and two steps more, every rank has the weights of a simulation
        in one process (2, 3 and 4 ranks; SGD, momentum, AdamW).
        """
        cases = [("SGD", "plain"), ("SGD with momentum", "plain"), ("AdamW", "plain")]
        for world_size in (2, 3, 4):
            self.compare(ranks, world_size, cases, every=3, steps=11)

    @hint("A tied weight is there once among the parameters; a frozen one does not move.")
    def test_tied_and_frozen(self, ranks):
        """It works with tied and with frozen weights."""
        self.compare(ranks, 2, [("AdamW", "tied"), ("SGD", "frozen")], every=2, steps=4)

    @hint("One is a number of steps like any other.")
    def test_every_step(self, ranks):
        """With `every=1` the ranks meet after each step."""
        self.compare(ranks, 2, [("AdamW", "plain")], every=1, steps=3)

    @hint("One rank, too, meets itself.")
    def test_one_rank(self, ranks):
        """It works on one rank."""
        self.compare(ranks, 1, [("SGD", "plain")], every=2, steps=5)

    @hint(
        "Which steps end with a meeting, if they are counted from 1? "
        "All weights travel in one row, in one message."
    )
    def test_messages(self, ranks):
        """Nothing is sent but one message per meeting, with a number for each weight."""
        for by_step, weights in ranks(2, on_rank.messages, exercise_of(self), 3, 7):
            if any(call.name == "barrier" for calls in by_step for call in calls):
                raise Failure("the ranks wait for one another in a barrier, too", ONE_MESSAGE)
            sent = [len(calls) for calls in by_step]
            assert sent == [0, 0, 1, 0, 0, 1, 0], (
                "with a meeting after every 3 steps, the numbers of messages in steps 1 to 7 are "
                f"{', '.join(map(str, sent))}"
            )
            for call in (call for calls in by_step for call in calls):
                assert call.elements == weights, (
                    f"a message has {call.elements} numbers, and there are {weights} weights"
                )

    @hint("When may a sum be read? And which rows are not needed after the meeting?")
    def test_loose_ends(self, ranks):
        """A meeting waits for its message before it uses the sum, and many meetings leave nothing
        in memory (2 ranks).
        """
        by_rank = ranks(2, on_rank.loose_ends, exercise_of(self))
        undecided_where_wrong(by_rank)
        for rank, loose_end in enumerate(by_rank):
            assert not loose_end, f"on rank {rank}, {loose_end}"
