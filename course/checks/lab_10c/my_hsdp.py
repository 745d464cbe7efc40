"""Checks of my_hsdp: the two groups of a rank, and the gradients that they bring together."""

from course.checks.lab_10c import on_rank_my_hsdp as on_rank
from course.checks.tools.hint import Failure, Undecided, hint
from course.checks.tools.reference import CLOSE

GRIDS = ((2, 1), (2, 2), (4, 2), (6, 2), (6, 3))  # ranks, copies
COUNT = "Every rank had a batch of its own. So how many gradients are in the sum?"
ROW_ONLY = "The other copies have seen other batches: who adds up their part of the gradient?"
PART = "Of the row's flat gradient, each rank gets the part at its place in the row."


class TestMyHsdp:
    """Exercise 1: copies of a sharded model."""

    def placed(self, ranks, world_size: int, copies: int) -> list[tuple[list[int], list[int]]]:
        """The ranks of each rank's row and column."""
        groups = ranks(world_size, on_rank.members, copies)
        if None in groups:
            raise Undecided("the ranks make different groups, see test_same_groups")
        return groups

    @hint("Every rank makes every group, also those that it is not in, and all in the same order.")
    def test_same_groups(self, ranks):
        """All ranks make the same groups, in the same order (2, 4 and 6 ranks)."""
        for world_size, copies in GRIDS:
            difference, *_ = ranks(world_size, on_rank.differing, copies)
            assert not difference, f"{world_size} ranks, {copies} copies: {difference}"

    @hint("A copy lies on ranks that follow one another, so the rows of the grid are consecutive.")
    def test_rows(self, ranks):
        """Each copy of the model lies on consecutive ranks (2, 4 and 6 ranks)."""
        for world_size, copies in GRIDS:
            for rank, (row, _) in enumerate(self.placed(ranks, world_size, copies)):
                right = on_rank.row(rank, world_size, copies)
                assert row == right, (
                    f"{world_size} ranks, {copies} copies: rank {rank} shares its copy with "
                    f"{row} instead of {right}"
                )

    @hint("The same shard lies at the same place of each row: which ranks are those?")
    def test_columns(self, ranks):
        """A column has the ranks with the same shard, one of each copy (2, 4 and 6 ranks)."""
        for world_size, copies in GRIDS:
            for rank, (_, column) in enumerate(self.placed(ranks, world_size, copies)):
                right = on_rank.column(rank, world_size, copies)
                assert column == right, (
                    f"{world_size} ranks, {copies} copies: rank {rank} has its shard in common "
                    f"with {column} instead of {right}"
                )

    @hint(PART)
    def test_average(self, ranks):
        """Each rank gets its part of the mean over all ranks, of any number of copies."""
        for world_size, copies in GRIDS:
            results = ranks(world_size, on_rank.averaged, copies)
            for rank, got in enumerate(results):
                right = on_rank.right(rank, world_size, copies)
                if got.shape != right.shape:
                    raise Failure(
                        f"{world_size} ranks, {copies} copies: rank {rank} gets {got.numel()} "
                        f"numbers instead of {right.numel()}",
                        PART,
                    )
                if float((got - right).abs().max()) < CLOSE:
                    continue
                shares = world_size // copies
                own = on_rank.right(rank, world_size, copies, members=on_rank.row)
                mistakes = {
                    COUNT: [right * world_size, right * copies, right * shares],
                    ROW_ONLY: [own, own * shares / world_size],
                }
                near = [
                    text
                    for text, wrongs in mistakes.items()
                    if any(float((got - wrong).abs().max()) < CLOSE for wrong in wrongs)
                ]
                raise Failure(
                    f"{world_size} ranks, {copies} copies: rank {rank}'s part is off by "
                    f"{float((got - right).abs().max()):.2g}",
                    near[0] if near else PART,
                )

    @hint("Cut before you cross: what do the other copies need of this rank?")
    def test_what_crosses(self, ranks):
        """Only parts travel between the copies, and each of them once."""
        for world_size, copies in ((4, 2), (6, 2), (6, 3)):
            part = on_rank.SIZE * copies // world_size
            for rank, calls in enumerate(ranks(world_size, on_rank.messages, copies)):
                row = set(on_rank.row(rank, world_size, copies))
                crossing = sum(elements for elements, members in calls if not set(members) <= row)
                if not crossing:
                    raise Undecided("nothing travels between the copies, see test_average")
                assert crossing <= part, (
                    f"{world_size} ranks, {copies} copies: rank {rank} gives {crossing} numbers "
                    f"to collectives between copies; its part has {part}"
                )
