"""Checks of `parameter_server`, exercise 1 of lab 07c."""

from course.checks.lab_07.any_reference import in_one_process
from course.checks.lab_07c import on_rank_parameter_server as on_rank
from course.checks.lab_07c.any_replay import replay
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE, furthest
from course.core import words


class TestParameterServer:
    """Exercise 1: asynchronous, with bounded staleness."""

    @hint(
        "With one worker nothing interferes, so each update should be a step of ordinary training. "
        "Which part of such a step is missing?"
    )
    def test_one_worker(self, ranks):
        """With a single worker it is ordinary training: SGD, momentum, AdamW and a second parameter
        group; frozen and tied parameters.
        """
        runs, sizes = [("plain", "SGD"), ("frozen", "SGD with momentum")], (4,) * 5
        runs += [("tied", "AdamW"), ("plain", "SGD with two groups")]
        for rank, results in enumerate(ranks(2, on_rank.one_worker, runs, sizes)):
            for (kind, optimizer), got in zip(runs, results, strict=True):
                off = furthest(got, in_one_process(kind, optimizer, sizes))
                assert off < CLOSE, (
                    f"{optimizer}, {kind} model: after 5 steps of one worker rank {rank}'s weights "
                    f"are off by {off:.2g}"
                )

    @hint(
        "The version that belongs to a gradient is that of the weights it was computed from. "
        "Who knows it, and when?"
    )
    def test_history(self, ranks):
        """With 3 workers, replaying the server's history in one process gives
        the server's weights, on every rank.
        """
        sizes = (4,) * 12
        results = ranks(4, on_rank.serve, 1, sizes)
        history = results[0][1]
        assert len(history) == len(sizes), (
            f"the history has {len(history)} updates for {len(sizes)} batches"
        )
        late = [number for number, (_, version) in enumerate(history) if not 0 <= version <= number]
        assert not late, f"update {late[:1]} claims a version that was not there yet"
        assert any(version for _, version in history), (
            "each update claims to be of version 0: the server counts its updates in "
            "`self.version`, and a worker sends the version that it has read"
        )
        expected = replay(history, 3, sizes)
        off = max(furthest(got, expected) for got, _ in results)
        assert off < CLOSE, f"a replay of the history ends {off:.2g} away from the server's weights"

    @hint(
        "How many updates had been made when this one came, and which version had its worker read?"
    )
    def test_staleness(self, ranks):
        """staleness() counts the updates of others in between. With a bound of 0 and 3 workers
        these are 0, 1 or 2, with a larger bound there are more.
        """
        for bound, order in ((0, (2, 3, 1)), (3, (3, 1, 2))):
            result = ranks(1, on_rank.play, bound, order, (4, 4, 4))[0]
            sent, staleness = result["sent"], result["staleness"]
            assert result["history"] == sent, (
                f"(worker, version it had read) were {sent[:4]} ..., "
                f"and the history says {result['history'][:4]} ..."
            )
            expected = [number - version for number, (_, version) in enumerate(sent)]
            assert staleness == expected, (
                f"the history {sent} has the staleness {expected}, not {staleness}"
            )

    @hint("Within the bound, no worker should have to wait for another.")
    def test_goes_ahead(self, ranks):
        """No worker waits that is as many steps ahead of the slowest as the bound allows, or
        fewer.
        """
        for bound in (0, 2):
            held_up = ranks(1, on_rank.play, bound, (1, 3, 2), (7, 7, 7))[0]["held up"]
            assert not held_up, (
                f"worker {held_up[0][0]} has to wait, and is {words.plural(held_up[0][1], 'step')} "
                f"ahead of the slowest; the bound is {bound}"
            )

    @hint("Whose steps do you compare with whose?")
    def test_bound(self, ranks):
        """No worker goes on that is more steps ahead of the slowest than the bound allows."""
        for bound in (0, 2):
            too_far = ranks(1, on_rank.play, bound, (1, 3, 2), (7, 7, 7))[0]["too far"]
            assert not too_far, (
                f"worker {too_far[0][0]} goes on, and is {words.plural(too_far[0][1], 'step')} "
                f"ahead of the slowest; the bound is {bound}"
            )

    @hint("When a worker has finished, which is the slowest of those that still train?")
    def test_finished(self, ranks):
        """A worker that has finished holds up nobody. So with a bound of 0, all of 7 batches for
        3 workers are done.
        """
        result = ranks(1, on_rank.play, 0, (1, 2, 3), (2, 3, 2))[0]
        made = len(result["history"])
        assert result["ended"], f"after {made} of 7 updates every worker waits for the server"
        assert made == 7, f"{made} of 7 updates were made"

    @hint("Which of a worker's numbers are needed after its update?")
    def test_keeps_nothing(self, ranks):
        """The server keeps no gradients of earlier updates."""
        (left,) = ranks(1, on_rank.count_leaks_of_updates)
        assert not left, f"many updates leave {left} tensors in memory that are no longer needed"
