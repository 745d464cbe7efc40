"""What the checks of my_schedule do on each rank: its lists, and a pipeline that follows one."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor, nn

WIDTH, SAMPLES = 4, 3
FUNCTIONS = ("gpipe", "one_f_one_b")
Schedules = dict[tuple[str, int, int], list[list[tuple[str, int]]]]


def schedules(shapes: list[tuple[int, int]]) -> Schedules:
    """By function, stages and micro-batches: the learner's schedule."""
    script = importlib.import_module("my_schedule")
    return {
        (name, stages, microbatches): [
            [tuple(action) for action in actions]
            for actions in getattr(script, name)(stages, microbatches)
        ]
        for name in FUNCTIONS
        for stages, microbatches in shapes
    }


def layer(stage: int) -> nn.Linear:
    """The model of one stage."""
    torch.manual_seed(stage)
    return nn.Linear(WIDTH, WIDTH)


def example(microbatch: int) -> Tensor:
    """The inputs of one micro-batch."""
    generator = torch.Generator().manual_seed(100 + microbatch)
    return torch.randn(SAMPLES, WIDTH, generator=generator)


def gradients(name: str, microbatches: int) -> list[Tensor]:
    """The gradients of this rank's stage after it has followed its list of actions."""
    stage, last = dist.get_rank(), dist.get_world_size() - 1
    actions = getattr(importlib.import_module("my_schedule"), name)(last + 1, microbatches)[stage]
    down, up = (dist.new_group(list(range(last + 1))) for _ in range(2))
    model, gradients_of, sent = layer(stage), {}, []

    def receive(source: int, group: dist.ProcessGroup) -> Tensor:
        tensor = torch.empty(SAMPLES, WIDTH)
        dist.recv(tensor, source, group=group)
        return tensor

    def send(tensor: Tensor, to: int, group: dist.ProcessGroup) -> None:
        sent.append((tensor, dist.isend(tensor, to, group=group)))

    for kind, i in actions:
        if kind == "F":
            x = example(i) if stage == 0 else receive(stage - 1, down).requires_grad_()
            y = torch.tanh(model(x))
            gradients_of[i] = x, y
            if stage < last:
                send(y.detach(), stage + 1, down)
        else:
            x, y = gradients_of.pop(i)
            y.backward(torch.ones_like(y) if stage == last else receive(stage + 1, up))
            if stage > 0:
                send(x.grad, stage - 1, up)
    for _, work in sent:
        work.wait()
    return [parameter.grad for parameter in model.parameters()]


def alone(stages: int, microbatches: int) -> list[list[Tensor]]:
    """By stage: the gradients of one process that has all stages."""
    layers = [layer(stage) for stage in range(stages)]
    for i in range(microbatches):
        x = example(i)
        for module in layers:
            x = torch.tanh(module(x))
        x.backward(torch.ones_like(x))
    return [[parameter.grad for parameter in module.parameters()] for module in layers]
