"""Checks of `two_level`, exercise 1 of lab 09."""

from course.checks.engine.hint import hint
from course.checks.engine.recorder import Call
from course.checks.lab_09 import on_rank_two_level as on_rank

SIZES = (2, 3, 6)  # ranks per node, of six ranks


def crossing(calls: list[Call], size: int) -> list[Call]:
    """The calls among ranks of several nodes, of `size` ranks per node."""
    return [call for call in calls if len({rank // size for rank in call.ranks}) > 1]


class TestTwoLevel:
    """Exercise 1: an all-reduce that adds up within each node first."""

    def each(self, ranks):
        """(ranks per node, results by rank), all from one set of six ranks."""
        by_rank = ranks(6, on_rank.two_level, SIZES)
        for size in SIZES:
            yield size, [results[size] for results in by_rank]

    @hint(
        "There are three phases: within the node, between the leaders, within the node. "
        "Does every rank take part in those that concern it?"
    )
    def test_sum(self, ranks):
        """Every rank's tensor becomes the sum over all six ranks (as three nodes, two and one),
        also in a second call.
        """
        for size, results in self.each(ranks):
            for rank, result in enumerate(results):
                first, again = result["sum"][0], result["again"][0]
                assert result["sum"] == [21.0] * 4, (
                    f"{size} ranks per node: rank {rank} has {first:g}, not 1 + … + 6 = 21"
                )
                assert result["again"] == [126.0] * 4, (
                    f"{size} ranks per node: after a second call rank {rank} has {again:g}, not 126"
                )

    @hint("Only the leaders talk to other nodes: look at the members of the group of each call.")
    def test_cable(self, ranks):
        """One collective crosses from node to node, among one rank of each. With a single node,
        none does.
        """
        for size, results in self.each(ranks):
            by_rank = [crossing(result["calls"], size) for result in results]
            groups = {call.ranks for calls in by_rank for call in calls}
            leaders = tuple(range(0, 6, size))
            wanted = {leaders} if size < 6 else set()
            assert groups == wanted, (
                f"{size} ranks per node: the groups that cross between nodes are {sorted(groups)}"
            )
            most = max(len(calls) for calls in by_rank)
            assert most <= 1, (
                f"{size} ranks per node: a rank calls {most} collectives with other nodes, not one"
            )

    @hint(
        "Is what the leaders exchange as large as one tensor, "
        "or as the tensors of all ranks together?"
    )
    def test_bytes(self, ranks):
        """What crosses is as large as one tensor, however many ranks a node has."""
        for size, results in self.each(ranks):
            calls = [call for result in results for call in crossing(result["calls"], size)]
            sent = max((call.elements for call in calls), default=0)
            assert sent == (4 if size < 6 else 0), (
                f"{size} ranks per node: {sent} numbers cross between nodes for a tensor of 4"
            )

    @hint("Each new group costs connections, so make the groups once, in the constructor.")
    def test_groups(self, ranks):
        """Groups are made in the constructor, not in each call."""
        for size, results in self.each(ranks):
            made = max(result["groups_in_call"] for result in results)
            assert made == 0, f"{size} ranks per node: an all_reduce makes {made} groups"
