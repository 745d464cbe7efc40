"""Checks of `resumable`, exercise 3 of lab 09."""

from course.checks.engine.hint import hint
from course.checks.lab_09 import on_rank_resumable as on_rank


class TestResumable:
    """Exercise 3: training that survives interruptions, and a change of the number of ranks."""

    @hint("what must not depend on how many ranks there are: the samples that a step sees")
    def test_share(self, ranks):
        """The ranks' shares of a step are equal parts of one batch, the same for two ranks
        and for three.
        """
        seen = {}
        for world_size in (2, 3):
            by_rank = ranks(world_size, on_rank.shares, (1,))
            sizes = sorted({len(shares[1]) for shares in by_rank})
            assert len(sizes) == 1, (
                f"{world_size} ranks: their shares of a step have the sizes {sizes}"
            )
            seen[world_size] = sorted(index for shares in by_rank for index in shares[1])
            twice = len(seen[world_size]) - len(set(seen[world_size]))
            assert not twice, f"{world_size} ranks: {twice} samples of a step are seen twice"
        both = len(set(seen[2]) & set(seen[3]))
        assert seen[2] == seen[3], (
            f"2 ranks see {len(seen[2])} samples in a step, 3 ranks {len(seen[3])}; "
            f"{both} are the same"
        )

    @hint("which step is it? all ranks know the number, and it is all that the order may depend on")
    def test_steps_differ(self, ranks):
        """Each step sees other samples."""
        shares = ranks(1, on_rank.shares, (1, 2))[0]
        first, second = set(shares[1]), set(shares[2])
        assert len(first & second) < len(first) / 2, (
            f"{len(first & second)} of {len(first)} samples are in steps 1 and 2"
        )

    @hint("a rank that was told and one that was not must give the same answer")
    def test_agree(self, ranks):
        """all_stop() says the same on every rank: yes where one was told, whichever, and no
        where none was.
        """
        cases = (None, 0, 1, 2)
        by_case = zip(*ranks(3, on_rank.agreement, cases), strict=True)
        for told, answers in zip(cases, by_case, strict=True):
            who = "no rank" if told is None else f"rank {told}"
            assert answers == (told is not None,) * 3, (
                f"{who} was told to stop; the ranks answer {list(answers)}"
            )

    @hint("a signal to one rank must be heard by all in the same step")
    def test_stops_together(self, ranks):
        """A signal to one rank stops all after the same step, with that step saved."""
        results = ranks(2, on_rank.interrupted, 1, 3)
        assert [done for done, _ in results] == [3, 3], (
            f"the ranks stopped after the steps {[d for d, _ in results]}"
        )
        assert results[0][1] == 3, (
            f"they stopped after step 3; the checkpoint is of step {results[0][1]}"
        )

    @hint(
        "a share may depend on the step and on this rank, "
        "on nothing that a new process has forgotten"
    )
    def test_goes_on(self, ranks):
        """Interrupted after step 3 and started again, it ends with the weights of a run
        without interruption.
        """
        off = max(ranks(2, on_rank.resumed))
        assert off == 0, f"the weights differ by {off:.2g} from those of a run without interruption"

    @hint("together, two ranks must go on with the very samples that three would have seen")
    def test_fewer_ranks(self, ranks, tmp_path):
        """Begun on three ranks and continued on two, it ends with the weights of two
        from the start, to rounding.
        """
        ranks(3, on_rank.run, str(tmp_path / "parts.pt"), 3)
        off = max(ranks(2, on_rank.continued, str(tmp_path)))
        assert off < 1e-4, f"the weights differ by {off:.2g} from those of a run on two ranks"
