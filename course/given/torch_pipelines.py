"""The pipelines of `torch.distributed.pipelining` and ours, ready to take the same step."""

from collections.abc import Callable, Mapping

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.pipelining import PipelineStage, schedules

from course.given.gpt import Stage
from course.given.pipeline_runner import Runner

MICROBATCHES = 8
Way = tuple[list[Stage], Callable[[], object]]  # this rank's stages, and what takes a step


class Pipelines:
    """Pipelines over all ranks, all for one batch: `inputs` and `targets`, each (16, context)."""

    def __init__(self, inputs: Tensor, targets: Tensor) -> None:
        self.inputs, self.targets = inputs.contiguous(), targets.contiguous()
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.alone, _ = dist.new_subgroups(group_size=1)  # each stage is on one rank
        self.up = dist.new_group(list(range(self.ranks)))
        self.whole = self.stage(0, 1)  # one process, the whole batch at once
        self.whole.loss(self.whole(self.inputs), self.targets).backward()

    def stage(self, number: int, count: int) -> Stage:
        """Stage `number` of `count`, on this rank's device."""
        return Stage("tiny", number, count, self.alone).to(self.inputs.device)

    def ours(self, schedule: Callable[[int, int], list]) -> Way:
        """Our runner, which follows the lists of a schedule."""
        stage, size = self.stage(self.rank, self.ranks), len(self.inputs) // MICROBATCHES
        runner = Runner(stage, dist.group.WORLD, self.up)
        actions = schedule(self.ranks, MICROBATCHES)[self.rank]
        inputs, targets = self.inputs.split(size), self.targets.split(size)
        return [stage], lambda: runner.run(actions, inputs, targets)

    def theirs(self, name: str, *mine: int) -> Way:
        """torch's schedule of that name, where this rank has the stages `mine`."""
        count, device = len(mine) * self.ranks, self.inputs.device
        parts = [self.stage(number, count) for number in mine]
        stages = [
            PipelineStage(part, i, count, device) for i, part in zip(mine, parts, strict=True)
        ]
        schedule = schedules.get_schedule_class(name)
        run = schedule(
            stages if len(mine) > 1 else stages[0], MICROBATCHES, loss_fn=self.whole.loss
        )
        inputs = [self.inputs] if self.rank == 0 else []
        return parts, lambda: run.step(*inputs, target=self.targets if parts[-1].last else None)

    def ways(self, mine: Mapping[str, Callable]) -> dict[str, Way]:
        """Our pipelines with the schedules `mine`, and six of torch's, by name."""
        rank, ranks = self.rank, self.ranks
        results = {f"our {name}": self.ours(schedule) for name, schedule in mine.items()}
        results |= {name: self.theirs(name, rank) for name in ("GPipe", "1F1B")}
        loop = rank, ranks + rank  # with two ranks: stages 0 and 2, stages 1 and 3
        for name in ("Interleaved1F1B", "InterleavedZeroBubble"):
            results[name] = self.theirs(name, *loop)
        # In torch 2.11 a V begins with a message of a rank to itself, which Gloo refuses.
        if dist.get_backend() == "nccl" or torch.__version__ >= (2, 12):
            v = rank, 2 * ranks - 1 - rank  # with two ranks: stages 0 and 3, stages 1 and 2
            for name in ("ZBVZeroBubble", "DualPipeV"):
                results[name] = self.theirs(name, *v)
        return results

    def off(self, parts: list[Stage]) -> float:
        """The largest difference of this rank's gradients from those of one process."""
        expected = {name: parameter.grad for name, parameter in self.whole.named_parameters()}
        tables = [part.table for part in parts if part.first or part.last]  # copies of one table
        total = sum((table.grad for table in tables), torch.zeros_like(self.whole.table))
        dist.all_reduce(total)
        for table in tables:
            table.grad = total
        named = [pair for part in parts for pair in part.named_parameters()]
        return max((p.grad - expected[name]).abs().max().item() for name, p in named)
