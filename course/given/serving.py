"""The messages between a parameter server and its workers, from the start to the end of training.

A worker sends its gradients with the version of the weights that they belong to. The server
answers with new weights and their version, at once or when the worker may go on.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from course.given.strategy import trained

FINISHED, LOST = -1, -2  # in place of a version: a worker's last message


class Mailbox:
    """Messages between ranks: a version, and as many numbers as the model has trained weights.

    The server finds them in its `inbox`, in order of arrival.
    """

    def __init__(self, length: int) -> None:
        self.length, self.inbox = length, SimpleQueue()

    def send(self, to: int, version: int, numbers: Tensor | None = None) -> None:
        """Send a message to a rank."""
        message = torch.zeros(1 + self.length)
        message[0] = version
        if numbers is not None:
            message[1:] = numbers.detach()
        dist.send(message, to)

    def receive(self, source: int) -> tuple[int, Tensor]:
        """The version and the numbers of the next message from a rank."""
        message = torch.empty(1 + self.length)
        dist.recv(message, source)
        return int(message[0]), message[1:]

    def listen(self, workers: Iterable[int]) -> None:
        """Start one thread per worker that puts (worker, version, numbers) into the inbox."""
        for worker in workers:
            Thread(target=self._listen_to, args=[worker], daemon=True).start()

    def _listen_to(self, worker: int) -> None:
        version = 0
        while version not in (FINISHED, LOST):
            try:
                version, numbers = self.receive(worker)
            except RuntimeError:  # the connection is closed: that process is dead
                version, numbers = LOST, None
            self.inbox.put((worker, version, numbers))


class Serving:
    """The first base class of a strategy in which rank 0 is the server and the others are workers.

    The strategy has to add `apply` and `may_go_on`, and a `run` for the workers.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__([device])
        self.rank, self.workers = dist.get_rank(), dist.get_world_size() - 1
        self.version = 0  # the server's updates so far; on a worker, those it has read

    def place(self) -> None:
        """Give all ranks the server's variables to start with."""
        for tensor in self.model.state_dict().values():
            dist.broadcast(tensor, src=0)
        self.model.to(self.devices[0])
        self.mail = Mailbox(sum(parameter.numel() for parameter in trained(self.model)))

    def distribute(self, loader: Iterable) -> Iterator[list]:
        """Deal out whole batches to the workers; the server gets none and serves meanwhile."""
        if self.rank == 0:
            self.serve()
            return
        for number, batch in enumerate(loader):
            if number % self.workers == self.rank - 1:
                yield from super().distribute([batch])
        self.mail.send(0, FINISHED)
        self.read(*self.mail.receive(0))  # the final weights

    def gradients(self) -> Tensor:
        """A worker's gradients in one row, with zeros for unused parameters."""
        every = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained(self.model)]
        return torch.cat([gradient.flatten() for gradient in every]).cpu()

    def read(self, version: int, weights: Tensor) -> None:
        """Take over the server's weights of a version, on a worker."""
        self.version = version
        vector_to_parameters(weights.to(self.devices[0]), trained(self.model))

    def serve(self) -> None:
        """Apply gradients in the order in which they come; answer who may go on."""
        self.steps = dict.fromkeys(range(1, self.workers + 1), 0)  # of all that still train
        self.mail.listen(list(self.steps))
        waiting, finished = set(), set()
        while self.steps:
            worker, version, gradients = self.mail.inbox.get()
            if version in (FINISHED, LOST):
                self.steps.pop(worker)
                waiting.discard(worker)
                if version == FINISHED:
                    finished.add(worker)
            else:
                self.apply(worker, version, gradients)
                self.steps[worker] += 1
                waiting.add(worker)
            for worker in [worker for worker in waiting if self.may_go_on(worker)]:
                waiting.remove(worker)
                self.answer(worker)
        for worker in finished:
            self.answer(worker)

    def answer(self, worker: int) -> None:
        """Send a worker the weights as they are now."""
        with suppress(RuntimeError):  # it has died: its thread says so in the inbox
            self.mail.send(worker, self.version, parameters_to_vector(trained(self.model)))
