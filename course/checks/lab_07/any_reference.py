"""What the strategies of lab 07 are compared with: the same training in one process."""

import copy

import torch
from torch import Tensor

from course.checks.lab_07.on_rank_training import loader, model_of, update_of
from course.checks.tools.reference import weights


def in_one_process(kind: str, optimizer: str, sizes: tuple[int, ...]) -> list[Tensor]:
    """The weights after one process has trained on the whole batches."""
    return in_parts(kind, optimizer, sizes, parts=1)


def in_parts(kind: str, optimizer: str, sizes: tuple[int, ...], parts: int) -> list[Tensor]:
    """The same, each batch in parts that are normalized one by one; buffers are the parts' mean."""
    model = model_of(kind)
    update = update_of(model, optimizer)
    for inputs, targets in loader(sizes):
        update.zero_grad()
        before, after = copy.deepcopy(list(model.buffers())), []
        for x, y in zip(inputs.tensor_split(parts), targets.tensor_split(parts), strict=True):
            _set(model.buffers(), before)
            (((model(x) - y) ** 2).sum() / len(inputs)).backward()
            after.append(copy.deepcopy(list(model.buffers())))
        _set(model.buffers(), [sum(column) / parts for column in zip(*after, strict=True)])
        update.step()
    return weights(model)


@torch.no_grad()
def _set(tensors: object, values: list[Tensor]) -> None:
    for tensor, value in zip(tensors, values, strict=True):
        tensor.copy_(value)
