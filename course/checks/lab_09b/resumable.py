"""Checks of `resumable`, exercise 2 of lab 09b."""

import collections
import itertools

from course.checks.lab_09b import on_rank_resumable as on_rank
from course.checks.tools.hint import hint
from course.core import words


class TestResumable:
    """Exercise 2: training that survives interruptions, and a change of the number of ranks."""

    @hint("The samples that a step sees must not depend on how many ranks there are.")
    def test_share(self, ranks):
        """The ranks' shares of a step are equal parts of one batch, which is the same for two ranks
        and for three.
        """
        seen = {}
        for world_size in (2, 3):
            by_rank = ranks(world_size, on_rank.shares, (1,), 500)  # 20 too many for ten steps
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

    @hint("All ranks know the number of the step, and the order may depend on nothing else.")
    def test_steps_differ(self, ranks):
        """Each step sees different samples."""
        shares = ranks(1, on_rank.shares, (1, 2, 3, 40))[0]
        for step, other in itertools.combinations(shares, 2):
            first, second = set(shares[step]), set(shares[other])
            assert len(first & second) < len(first) / 2, (
                f"{len(first & second)} of {len(first)} samples are in both step {step} and "
                f"step {other}"
            )

    @hint("Cut the batch of each step out of the epoch's order, one batch after the other.")
    def test_epochs(self, ranks):
        """In an epoch of 480 samples each is drawn once, and the next epoch has another order."""
        steps = on_rank.SIZE // on_rank.BATCH
        by_rank = ranks(3, on_rank.shares, tuple(range(1, 2 * steps + 1)))
        orders = []
        for epoch in range(2):
            of_epoch = range(epoch * steps + 1, (epoch + 1) * steps + 1)
            batches = [{index for shares in by_rank for index in shares[step]} for step in of_epoch]
            drawn = collections.Counter(index for batch in batches for index in batch)
            often = {drawn[index] for index in range(on_rank.SIZE)}
            assert often == {1}, (
                f"epoch {epoch + 1}, {on_rank.SIZE} samples in {steps} steps: "
                f"each is drawn {min(often)} to {max(often)} times"
            )
            orders.append(batches)
        assert orders[0] != orders[1], "both epochs have the same batches in the same order"

    @hint("A rank that was told to stop and one that was not must give the same answer.")
    def test_agree(self, ranks):
        """all_stop() gives every rank the same answer: yes if a rank or several were told to stop.
        It makes no process group for that.
        """
        cases = ((), (0,), (1,), (2,), (0, 2), (0, 1, 2))
        by_rank, groups = zip(*ranks(3, on_rank.agreement, cases), strict=True)
        for signalled, answers in zip(cases, zip(*by_rank, strict=True), strict=True):
            assert answers == (bool(signalled),) * 3, (
                f"told to stop: {', '.join(f'rank {rank}' for rank in signalled) or 'no rank'}; "
                f"the ranks answer {list(answers)}"
            )
        assert not any(groups), f"{len(cases)} calls make {words.plural(max(groups), 'group')}"

    @hint("After a signal to one rank, all of them have to learn of it in the same step.")
    def test_stops_together(self, ranks):
        """A signal to one rank stops all after the same step, with that step saved."""
        results = ranks(2, on_rank.interrupted, 1, 3)
        assert [done for done, _ in results] == [3, 3], (
            f"the ranks stopped after the steps {[d for d, _ in results]}"
        )
        assert results[0][1] == 3, (
            f"they stopped after step 3, but the checkpoint is from step {results[0][1]}"
        )

    @hint(
        "A share may depend on the step, the rank and the number of ranks, "
        "but on nothing that a new process does not know."
    )
    def test_goes_on(self, ranks):
        """Interrupted after step 3 and started again, it ends with the weights of a run
        without interruption.
        """
        off = max(ranks(2, on_rank.resumed))
        assert off == 0, f"the weights differ by {off:.2g} from those of a run without interruption"

    @hint("Two ranks together must go on with the same samples that three would have seen.")
    def test_fewer_ranks(self, ranks, tmp_path):
        """Begun on three ranks and continued on two, it ends with the weights of two
        from the start, to rounding.
        """
        ranks(3, on_rank.run, str(tmp_path / "parts.pt"), 3)
        off = max(ranks(2, on_rank.continued, str(tmp_path)))
        assert off < 1e-4, f"the weights differ by {off:.2g} from those of a run on two ranks"
