"""The engine's two parts in their shortest form: correct, but without help and without fusion.

It only states a disagreement, does not report which ranks are late, and sends one message for each
operation. Lab 06b replaces all three.
"""

import torch
from torch import Tensor

from course.given.horovod.requests import Answer, Request


class Negotiation:
    """Answers an operation when every rank has requested it, or when one has refused it."""

    def __init__(self, world_size: int) -> None:
        self.world_size = world_size
        self.heard: dict[tuple[str, int], dict[int, Request]] = {}

    def hear(self, rank: int, request: Request, now: float) -> None:
        """Record the request of `rank`."""
        self.heard.setdefault(request.key, {})[rank] = request

    def answers(self) -> list[Answer]:
        """The answers ready now, in the order in which requests were first heard."""
        answers = []
        for key, by_rank in list(self.heard.items()):
            requests = tuple(by_rank[rank] for rank in sorted(by_rank))
            faults = [request.fault for request in requests if request.fault]
            if not faults and len(requests) < self.world_size:
                continue
            if not faults and len(set(map(_comparable, requests))) > 1:
                faults = [f"{requests[0].name!r}: the ranks do not ask for the same"]
            answers.append(Answer(key, requests, *faults[:1]))
            del self.heard[key]
        return answers

    def missing(self, now: float, patience: float) -> dict[str, list[int]]:
        """Nothing: the engine waits for late ranks in silence."""
        return {}


def _comparable(request: Request) -> Request:
    """The request without what may differ between the ranks: the rows of an allgather."""
    if request.kind != "allgather":
        return request
    return request._replace(shapes=tuple(shape[1:] for shape in request.shapes), bytes=0)


def fuse(answers: list[Answer], threshold: int) -> list[list[Answer]]:
    """One message for each operation, whatever the threshold."""
    return [[answer] for answer in answers]


def pack(tensors: list[Tensor], buffer: Tensor) -> Tensor:
    """The elements of all tensors of a group, in new memory."""
    return torch.cat([tensor.flatten() for tensor in tensors])


def unpack(flat: Tensor, tensors: list[Tensor]) -> None:
    """Write the elements of `flat` into `tensors`, in order."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view_as(tensor))
