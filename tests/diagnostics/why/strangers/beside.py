"""A second thread sends the gradients: ``torchrun --nproc-per-node 2 beside.py``."""

import queue
import threading

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(30)])
gradients: queue.Queue = queue.Queue()


def send() -> None:
    """Average the gradients in the queue, one after the other."""
    while (gradient := gradients.get()) is not None:
        dist.all_reduce(gradient)
        gradients.task_done()


class Averaged(torch.optim.SGD):
    """An optimizer that first waits for the other thread."""

    def step(self, closure: object = None) -> None:
        """Wait, then take the step."""
        for parameter in model.parameters():
            gradients.put(parameter.grad)
        gradients.join()
        super().step(closure)


thread = threading.Thread(target=send)
thread.start()
optimizer = Averaged(model.parameters(), lr=0.01)
for _ in range(40):
    model(torch.randn(8, 64)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
gradients.put(None)
thread.join()
dist.destroy_process_group()
