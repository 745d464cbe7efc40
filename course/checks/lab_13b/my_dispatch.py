"""Checks of my_dispatch: tokens travel to their experts, and back to their places."""

import torch
from torch import Tensor

from course.checks.lab_13b import on_rank_dispatch as on_rank
from course.checks.lab_13b.any_group import stay_in_their_groups
from course.checks.tools.hint import Failure, hint
from course.checks.tools.reference import CLOSE
from course.core import words

WEIGHTS = "What a token's experts return is multiplied by its weights before it is added up."
PLACE = "The rows come back in the order in which you sent them: `token` has the place of each."
SIZES = "`to_each` are my counts, summed over each rank's experts; `from_each` the others' for me."
BACK = "The gradient of a row that came from rank r goes to rank r: which sizes go, which come?"
GRAPH = "Is every step a part of the graph of autograd, from the tokens to the result?"


def off(got: Tensor | None, expected: Tensor) -> str:
    """How a tensor differs from what it should be; "" if it does not."""
    if got is None:
        return "is missing: it is None after backward"
    if got.shape != expected.shape:
        return f"has the shape {tuple(got.shape)} instead of {tuple(expected.shape)}"
    if got.numel() == 0 or float((got - expected).abs().max()) < CLOSE:
        return ""
    return f"is off by {float((got - expected).abs().max()):.2g}"


class TestMyDispatch:
    """Exercise 2: tokens travel to their experts, and back."""

    @hint(BACK)
    def test_backward(self, ranks):
        """The gradient of each row comes back to the rank that has sent the row."""
        for world_size in (1, 2, 3):
            sizes = on_rank.sizes(world_size)
            for rank, (_, gradient) in enumerate(ranks(world_size, on_rank.exchanged)):
                to = torch.repeat_interleave(torch.arange(world_size), torch.tensor(sizes[rank]))
                expected = 2 * on_rank.sent_rows(rank, world_size) + to.unsqueeze(-1)
                wrong = off(gradient, expected)
                where = words.plural(world_size, "rank")
                assert not wrong, f"{where}: the gradient of rank {rank}'s rows {wrong}"

    @hint("Each rank's experts have their counts in a row; the counts for rank r go to rank r.")
    def test_announce(self, ranks):
        """Each rank learns how many rows each other rank has for each of its experts."""
        for world_size in (1, 2, 3):
            held = on_rank.EXPERTS // world_size
            for rank, got in enumerate(ranks(world_size, on_rank.announced)):
                mine = slice(rank * held, (rank + 1) * held)
                expected = torch.stack(
                    [on_rank.counts(sender)[mine] for sender in range(world_size)]
                )
                assert got.tolist() == expected.tolist(), (
                    f"{words.plural(world_size, 'rank')}: rank {rank} learns {got.tolist()}, "
                    f"and the others have {expected.tolist()} rows for its experts"
                )

    def compare(self, ranks, world_size: int, case: str, what: tuple[str, ...]) -> None:
        """Hold `through` to one process that has all experts."""
        expected, _ = on_rank.sent_alone(list(range(world_size)), case)
        for rank, result in enumerate(ranks(world_size, on_rank.sent, case)):
            for name in what:
                if wrong := off(result[name], expected[rank][name]):
                    where = f"{words.plural(world_size, 'rank')}, {case}"
                    label = name if name == "output" else f"gradient of {name}"
                    why = GRAPH if result[name] is None else self.why(name)
                    raise Failure(f"{where}: the {label} of rank {rank} {wrong}", why)

    def why(self, name: str) -> str:
        """The hint for a result that is wrong."""
        return {"output": f"{PLACE} {WEIGHTS}", "x": BACK, "weights": WEIGHTS}[name]

    @hint(PLACE)
    def test_output(self, ranks):
        """Each token gets what its experts return, weighted, as in one process."""
        for world_size in (1, 2, 3, 4):
            self.compare(ranks, world_size, "usual", ("output",))

    @hint("`kept` says which choices travel; the others add nothing.")
    def test_dropped(self, ranks):
        """A choice that is not kept adds nothing, and a token without any gets zeros."""
        self.compare(ranks, 2, "dropped", ("output",))

    @hint(GRAPH)
    def test_gradients(self, ranks):
        """The gradients of tokens, weights and experts are those of one process."""
        for world_size in (1, 3):
            self.compare(ranks, world_size, "usual", ("output", "x", "weights"))
            _, experts = on_rank.sent_alone(list(range(world_size)), "usual")
            for rank, result in enumerate(ranks(world_size, on_rank.sent, "usual")):
                for name in result.keys() & experts.keys():
                    wrong = off(result[name], experts[name])
                    assert not wrong, f"the gradient of expert {name} on rank {rank} {wrong}"
            held = set().union(*ranks(world_size, on_rank.sent, "usual"))
            missing = sorted(experts.keys() - held)
            assert not missing, f"no rank has a gradient of expert {missing[0]}"

    @hint("All ranks take part in each exchange: is there a call that a rank leaves out?")
    def test_nothing_to_send(self, ranks):
        """A rank that sends nothing, or gets nothing, takes part in every exchange."""
        for case in ("one expert", "idle sender"):
            self.compare(ranks, 3, case, ("output", "x"))

    @hint("Which argument of a collective says who takes part?")
    def test_group(self, ranks):
        """Two groups of two ranks, each with all experts, do not mix."""
        stay_in_their_groups(ranks(4, on_rank.messages, 2))

    @hint(SIZES)
    def test_traffic(self, ranks):
        """Only rows that are kept travel: there and back, in forward and in backward."""
        for case_ranks in (2, 3):
            self.compare(ranks, case_ranks, "dropped", ("output",))
            routings = [on_rank.Routing(rank, "dropped") for rank in range(case_ranks)]
            held = on_rank.EXPERTS // case_ranks
            for rank, calls in enumerate(ranks(case_ranks, on_rank.messages)):
                own = int(routings[rank].kept.sum())
                come = sum(
                    int((routing.chosen[routing.kept] // held == rank).sum())
                    for routing in routings
                )
                allowed = 4 * max(own, come) * on_rank.WIDTH + 4 * on_rank.EXPERTS
                sent = sum(elements for _, elements, _ in calls)
                assert sent <= allowed, (
                    f"rank {rank} of {case_ranks} moves {sent} numbers, and {allowed} are enough "
                    f"for {own} rows there and back, {come} from others, and their sizes"
                )
