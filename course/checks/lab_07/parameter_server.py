"""Checks of `parameter_server`, exercise 4 of lab 07."""

import tempfile

from course.checks.engine.hint import hint
from course.checks.engine.reference import CLOSE, furthest
from course.checks.lab_07 import on_rank_parameter_server as on_rank
from course.checks.lab_07.any_reference import in_one_process, replay
from course.core import words


class TestParameterServer:
    """Exercise 4: asynchronous, with bounded staleness."""

    @hint(
        "With one worker nobody interferes, so each update should be a step of ordinary training. "
        "Which part of such a step is missing?"
    )
    def test_one_worker(self, ranks):
        """With a single worker it is ordinary training: SGD, momentum and AdamW."""
        sizes = (4,) * 5
        for rank, by_optimizer in enumerate(ranks(2, on_rank.one_worker, sizes)):
            for optimizer, got in by_optimizer.items():
                off = furthest(got, in_one_process("plain", optimizer, sizes))
                assert off < CLOSE, (
                    f"{optimizer}: after 5 steps of one worker rank {rank}'s weights "
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
        wanted = replay(history, 3, sizes)
        off = max(furthest(got, wanted) for got, *_ in results)
        assert off < CLOSE, f"a replay of the history ends {off:.2g} away from the server's weights"

    @hint(
        "How many updates had been made when this one came, and which version had its worker read?"
    )
    def test_staleness(self, ranks):
        """staleness() counts the updates of others in between. With a bound of 0 and 3 workers
        these are 0, 1 or 2.
        """
        _, history, stale = ranks(4, on_rank.serve, 0, (4,) * 12)[0]
        assert stale == [number - version for number, (_, version) in enumerate(history)], (
            f"the history {history[:4]} ... has the staleness {stale[:4]} ..."
        )
        assert set(stale) == {0, 1, 2}, (
            f"3 workers in step have a staleness of {sorted(set(stale))}"
        )

    @hint("Within the bound, nobody should have to wait for anybody.")
    def test_goes_ahead(self, ranks):
        """With a bound of 2, a fast worker takes 3 steps while a slow one takes its first."""
        steps = self.ahead(ranks)
        assert steps >= 3, (
            f"the fast worker has begun {words.plural(steps, 'step')} and waits for the slow one"
        )

    @hint("Whose steps do you compare with whose?")
    def test_bound(self, ranks):
        """With a bound of 2 it does not begin a fourth step."""
        steps = self.ahead(ranks)
        assert steps <= 3, f"the fast worker has begun {steps} steps, the bound is 2"

    @hint("When a worker has finished, who is the slowest of those that still train?")
    def test_finished(self, ranks):
        """A worker that has finished holds up nobody. So with a bound of 0, all of 7 batches for
        3 workers are done.
        """
        history = ranks(4, on_rank.serve, 0, (4,) * 7)[0][1]
        assert len(history) == 7, f"{len(history)} of 7 updates were made"

    def ahead(self, ranks) -> int:
        """How many steps worker 1 has begun before worker 2 ends its first, with a bound of 2."""
        with tempfile.TemporaryDirectory() as folder:
            return ranks(3, on_rank.ahead, 2, folder)[2]
