"""What the checks of my_dispatch do on each rank: its functions next to one process."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.checks.tools.recorder import recorded
from course.given.sent import Traffic

EXPERTS, WIDTH, TOKENS, CHOICES = 12, 5, 10, 2  # 12 can be shared by 1, 2, 3 and 4 ranks
CASES = ("usual", "dropped", "one expert", "idle sender")


def script():
    """The learner's script."""
    return importlib.import_module("my_dispatch")


def sizes(ranks: int) -> list[list[int]]:
    """How many rows each rank (first index) sends to each; some send none."""
    return [
        [(3 * sender + 2 * to + sender * to) % 5 for to in range(ranks)] for sender in range(ranks)
    ]


def sent_rows(sender: int, ranks: int) -> Tensor:
    """The rows that a rank sends in the checks of `Exchange`."""
    count = sum(sizes(ranks)[sender])
    return torch.randn(count, WIDTH, generator=torch.Generator().manual_seed(sender))


def exchanged() -> tuple[Tensor, Tensor]:
    """What `Exchange` returns of the ranks' rows, and the gradient that comes back."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    to_each, from_each = sizes(ranks)[rank], [row[rank] for row in sizes(ranks)]
    rows = sent_rows(rank, ranks).requires_grad_()
    out = script().Exchange.apply(rows, to_each, from_each, dist.group.WORLD)
    out.backward(2 * out.detach() + rank)  # tells who has sent it back
    return out.detach(), rows.grad


def counts(sender: int) -> Tensor:
    """How many rows a rank has for each expert, in the checks of `announce`."""
    return torch.arange(EXPERTS) * (sender + 1) % 7 + 10 * sender


def announced() -> Tensor:
    """What `announce` returns."""
    return script().announce(counts(dist.get_rank()), dist.group.WORLD)


class Routing(nn.Module):
    """All experts, and one rank's tokens with their choices: the same wherever it is made."""

    def __init__(self, part: int, case: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.experts = nn.ModuleDict(
            {
                str(number): nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh())
                for number in range(EXPERTS)
            }
        )
        draw = torch.Generator().manual_seed(10 + part)
        self.x = torch.randn(TOKENS, WIDTH, generator=draw).requires_grad_()
        weights, chosen = torch.rand(TOKENS, EXPERTS, generator=draw).topk(CHOICES, dim=-1)
        self.kept = torch.ones(TOKENS, CHOICES, dtype=torch.bool)
        if case == "dropped":
            self.kept = torch.rand(TOKENS, CHOICES, generator=draw) < 0.6
            self.kept[1] = False
        if case == "one expert":  # the first, and for some the last
            chosen = torch.zeros_like(chosen)
            chosen[:, 1] = EXPERTS - 1
            self.kept[:, 1] = torch.arange(TOKENS) < 2
        if case == "idle sender" and part == 0:
            self.kept[:] = False
        self.chosen, self.weights = chosen, weights.clone().requires_grad_()


def sent(case: str, groups: int = 1) -> dict[str, Tensor]:
    """What `through` computes: its output, and the gradients of tokens, weights and experts."""
    group = dist.new_subgroups(group_size=dist.get_world_size() // groups)[0]
    size = dist.get_world_size(group)
    routing = Routing(dist.get_rank(), case)
    held = EXPERTS // size
    first = dist.get_rank(group) * held
    mine = nn.ModuleDict({str(n): routing.experts[str(n)] for n in range(first, first + held)})
    x, weights = routing.x, routing.weights
    y = script().through(x, routing.chosen, weights, routing.kept, mine, group)
    assert y.requires_grad, "the result of `through` depends on no row, so it has no backward pass"
    (y * (1 + dist.get_rank())).sum().backward()
    gradients = {name: p.grad for name, p in mine.named_parameters() if p.grad is not None}
    return {"output": y.detach(), "x": x.grad, "weights": weights.grad} | gradients


def sent_alone(parts: list[int], case: str) -> tuple[list[dict[str, Tensor]], dict[str, Tensor]]:
    """The same in one process with all experts: of each rank's tokens, and of the experts."""
    results, total = [], Routing(0, case).experts
    for part in parts:
        routing = Routing(part, case)
        x, weights, y = routing.x, routing.weights, []
        for token in range(TOKENS):
            row = torch.zeros(WIDTH)
            for choice in range(CHOICES):
                if routing.kept[token, choice]:
                    expert = total[str(int(routing.chosen[token, choice]))]
                    row = row + weights[token, choice] * expert(x[token])
            y.append(row)
        out = torch.stack(y)
        if out.requires_grad:
            (out * (1 + part)).sum().backward()
        grads = [t.grad if t.grad is not None else torch.zeros_like(t) for t in (x, weights)]
        results.append({"output": out.detach(), "x": grads[0], "weights": grads[1]})
    experts = {n: p.grad for n, p in total.named_parameters() if p.grad is not None}
    return results, experts


def messages(groups: int = 1) -> tuple[list[tuple], int]:
    """The elements and the ranks of each message of `through` and its backward; rows kept."""
    group = dist.new_subgroups(group_size=dist.get_world_size() // groups)[0]
    held = EXPERTS // dist.get_world_size(group)
    first = dist.get_rank(group) * held
    routing = Routing(dist.get_rank(), "dropped")
    mine = nn.ModuleDict({str(n): routing.experts[str(n)] for n in range(first, first + held)})
    with recorded("new_group"), Traffic() as seen:
        y = script().through(routing.x, routing.chosen, routing.weights, routing.kept, mine, group)
        y.sum().backward()
    return [(message.name, message.elements, message.ranks) for message in seen.messages]
