"""The bytes that one rank of a large run holds and sends, counted during a step."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from unittest import mock

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.distributed.device_mesh import DeviceMesh

from course.given.gpt import Stage
from course.given.pipeline_runner import Runner
from course.given.schedules import one_f_one_b

AXES = ("data", "pipeline", "tensor")


def ledger(mesh: DeviceMesh, size: str, microbatches: int) -> dict[str, int]:
    """Take one step with AdamW on a mesh of the three `AXES`; one sample is one micro-batch."""
    stages = mesh["pipeline"].size()
    stage = Stage(size, mesh.get_local_rank("pipeline"), stages, mesh.get_group("tensor"))
    runner = Runner(stage, *[mesh.get_group("pipeline")] * 2)  # with Gloo, one group does both
    optimizer, saved = torch.optim.AdamW(stage.parameters()), []
    tokens = torch.zeros(microbatches, stage.context, dtype=torch.long)
    with sent_by(runner, mesh) as sent:
        with saved_tensors_hooks(lambda x: saved.append(x) or x, lambda x: x):
            actions = one_f_one_b(stages, microbatches)[runner.place]
            runner.run(actions, tokens.split(1), tokens.split(1))
        for parameter in stage.parameters():
            dist.all_reduce(parameter.grad, group=mesh.get_group("data"))
    if stage.first != stage.last:  # the sum for the tied table, between two stages
        sent["pipeline"] += stage.table.grad.nbytes
    optimizer.step()
    parameters = list(stage.parameters())
    activations = (count([*saved, *parameters]) - count(parameters)) // microbatches
    return {
        "stage": runner.place,
        "parameters": count(parameters),
        "gradients": count(parameter.grad for parameter in parameters),
        "optimizer": count(x for state in optimizer.state.values() for x in state.values()),
        "micro_batch": activations,
        "alive": runner.most_alive,
        "activations": activations * runner.most_alive,
        **{f"sent_{axis}": sent[axis] for axis in AXES},
    }


def count(tensors: Iterable[Tensor]) -> int:
    """The bytes of these tensors, which may be fake; storage that several share counts once."""
    return sum(storage.nbytes() for storage in {tensor.untyped_storage() for tensor in tensors})


@contextmanager
def sent_by(runner: Runner, mesh: DeviceMesh) -> Iterator[Counter]:
    """Count the bytes handed over for sending in the block, by axis; a group of one sends none."""
    sent, all_reduce, send = Counter(), dist.all_reduce, runner.send
    axis_of = {mesh.get_group(axis): axis for axis in AXES if mesh[axis].size() > 1}

    def counted_all_reduce(x: Tensor, op=dist.ReduceOp.SUM, group=None) -> None:
        if group in axis_of:
            sent[axis_of[group]] += x.nbytes
        all_reduce(x, op, group)

    def counted_send(x: Tensor, to: int, group: dist.ProcessGroup) -> None:
        sent["pipeline"] += x.nbytes
        send(x, to, group)

    with (
        mock.patch.object(dist, "all_reduce", counted_all_reduce),
        mock.patch.object(runner, "send", counted_send),
    ):
        yield sent
