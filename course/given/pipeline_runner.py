"""Run one stage of a pipeline through a list of actions, such as ``[("F", 0), ("B", 0)]``."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor

from course.given.gpt import Stage


class Runner:
    """Runs the actions of one stage; `down` carries activations to the next one, `up` gradients.

    After a step, `times` has (kind, micro-batch, start, end) of each pass, and `most_alive` how
    many micro-batches the stage kept at once.
    """

    def __init__(
        self, stage: Stage, down: dist.ProcessGroup, up: dist.ProcessGroup, pace_ms: float = 0
    ):
        self.stage, self.down, self.up, self.pace_ms = stage, down, up, pace_ms
        self.place, self.device = dist.get_rank(down), next(stage.parameters()).device

    def run(
        self, actions: list[tuple[str, int]], tokens: list[Tensor], targets: list[Tensor]
    ) -> None:
        """Run one step, after which the parameters have their gradients.

        `tokens` and `targets` are the micro-batches, each (samples, context).
        """
        self.tokens, self.targets = tokens, targets
        self.shape = (*tokens[0].shape, self.stage.width)
        self.alive, self.sent, self.times, self.most_alive, self.loss = {}, [], [], 0, 0.0
        for kind, i in actions:
            if kind == "F":
                self.forward(i)
            else:
                self.backward(i)
        for _, works in self.sent:
            for work in works:
                work.wait()

    def forward(self, i: int) -> None:
        """The forward pass of micro-batch `i`, from the stage before to the next one."""
        first, last = self.stage.first, self.stage.last
        x = self.tokens[i] if first else self.receive(self.place - 1, self.down).requires_grad_()
        with self.timed("F", i):
            y = self.stage(x)
            if last:
                y = self.stage.loss(y, self.targets[i]) / len(self.tokens)
        if not last:
            self.send(y, self.place + 1, self.down)
        self.alive[i] = x, y  # y holds the activations that backward needs
        self.most_alive = max(self.most_alive, len(self.alive))

    def backward(self, i: int) -> None:
        """The backward pass of micro-batch `i`, from the next stage to the one before."""
        x, y = self.alive.pop(i)
        gradient = None if self.stage.last else self.receive(self.place + 1, self.up)
        with self.timed("B", i):
            y.backward(gradient)
        self.loss += y.detach() if self.stage.last else 0
        if not self.stage.first:
            self.send(x.grad, self.place - 1, self.up)

    def send(self, tensor: Tensor, to: int, group: dist.ProcessGroup) -> None:
        """Begin to send, and go on: a stage that waited for a busy neighbour could wait forever."""
        message = dist.P2POp(dist.isend, tensor.detach().contiguous(), group=group, group_peer=to)
        works = dist.batch_isend_irecv([message])
        self.sent.append((message, works))  # the tensor must live until it has gone

    def receive(self, source: int, group: dist.ProcessGroup) -> Tensor:
        """The next message of a neighbour."""
        tensor = torch.empty(self.shape, device=self.device)
        message = dist.P2POp(dist.irecv, tensor, group=group, group_peer=source)
        for work in dist.batch_isend_irecv([message]):
            work.wait()
        return tensor

    @contextmanager
    def timed(self, kind: str, i: int) -> Iterator[None]:
        """Record when a pass begins and ends.

        A pass lasts at least `pace_ms`, and a backward pass at least twice that.
        """
        self._finish()  # a message still on its way to a GPU is not part of the pass
        start = time.perf_counter()
        yield
        self._finish()
        shortest = self.pace_ms / 1e3 * (1 if kind == "F" else 2)
        time.sleep(max(0.0, start + shortest - time.perf_counter()))
        self.times.append((kind, i, start, time.perf_counter()))

    def _finish(self) -> None:
        """Wait until this stage has computed, but not until its messages are sent."""
        if self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()
