"""What the tests of the pretended GPUs do on each rank."""

import os
import warnings
from collections.abc import Callable
from copy import deepcopy  # noqa: F401  (the samples may use it)

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course.pretended import pretend_gpus


def warnings_of(work: Callable[[], object]) -> str:
    """The error of some work, or else its first warning; "" if there is neither."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            work()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return next((f"{type(w.message).__name__}: {w.message}" for w in caught), "")


def alone(samples: list[str]) -> list[str]:
    """The error or warning of each sample of code, or else the device of its result."""
    pretend_gpus(2)
    answers = []
    for sample in samples:
        names = globals() | {"x": torch.ones(2, 2, device="cuda"), "host": torch.ones(2, 2)}
        *statements, last = sample.split("; ")
        results = []

        def work(statements=statements, last=last, names=names, results=results) -> None:
            exec("\n".join(statements), names)
            results.append(eval(last, names))

        problem = warnings_of(work)
        result = results[0] if results else None
        answers.append(problem or str(getattr(result, "device", result)))
    return answers


def before_cuda_is_initialized() -> list[str]:
    """The warning of the memory statistics and `is_initialized`, before and after `init`."""
    pretend_gpus(2)
    early = warnings_of(torch.cuda.reset_peak_memory_stats), torch.cuda.is_initialized()
    torch.cuda.init()
    return [*early, warnings_of(torch.cuda.reset_peak_memory_stats), torch.cuda.is_initialized()]


def right_start() -> torch.device:
    """Begin as every script does; return this rank's device."""
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    return device


def as_it_should_be() -> dict:
    """The results of a correct script over NCCL, and its error or warning, which must be ""."""
    pretend_gpus(2)
    results = {}

    def work() -> None:
        device, rank = right_start(), int(os.environ["RANK"])
        total, other = torch.ones(2, device=device), torch.empty(2, device=device)
        dist.all_reduce(total)
        dist.barrier()
        messages = [dist.P2POp(dist.isend, total * rank, 1 - rank)]
        messages.append(dist.P2POp(dist.irecv, other, 1 - rank))
        for message in dist.batch_isend_irecv(messages):
            message.wait()
        everyones = [None, None]
        dist.all_gather_object(everyones, f"rank {rank}")
        model = DistributedDataParallel(nn.Linear(2, 1).to(device), device_ids=[device])
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(2):
            model(other).sum().backward()
            optimizer.step()
        results.update(
            backend=dist.get_backend(),
            total=total.tolist(),
            received=other.tolist(),
            objects=everyones,
            gradient=str(model.module.weight.grad.device),
            state=str(optimizer.state[model.module.weight]["exp_avg"].device),
            on_host=str(total.cpu().numpy()),
        )
        dist.destroy_process_group()

    return results | {"said": warnings_of(work)}


def wrong(name: str) -> str:
    """The error or warning on this rank for one wrong use of NCCL."""
    pretend_gpus(2)
    problem = warnings_of(WRONG[name])
    await_the_other()
    if dist.is_initialized():
        dist.destroy_process_group()
    return problem


def await_the_other() -> None:
    """Wait until both ranks are here: one that is still connecting may miss one that has left."""
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    store.set(os.environ["RANK"], "is here")
    store.wait(["0", "1"])


def every_rank_on_gpu_0() -> None:
    dist.init_process_group("nccl")
    # No rank waits for it: from torch 2.15 on, only rank 1 is refused.
    dist.all_reduce(torch.ones(1, device="cuda:0"), async_op=True)


def same_gpu_as_device_id() -> None:
    dist.init_process_group("nccl", device_id=torch.device("cuda", 0))


def barrier_without_device_id() -> None:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    dist.barrier()


def unbatched_message() -> None:
    device, rank = right_start(), int(os.environ["RANK"])
    (dist.send if rank == 0 else dist.recv)(torch.ones(1, device=device), 1 - rank)


def tensor_of_the_cpu() -> None:
    right_start()
    dist.all_reduce(torch.ones(1))


def message_over_gloo() -> None:
    device, rank = torch.device("cuda", int(os.environ["LOCAL_RANK"])), int(os.environ["RANK"])
    torch.cuda.set_device(device)
    dist.init_process_group("gloo")
    (dist.send if rank == 0 else dist.recv)(torch.ones(1, device=device), 1 - rank)


def another_current_gpu() -> None:
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=device)
    dist.all_reduce(torch.ones(1, device=device))


def synchronize_without_set_device() -> None:
    dist.init_process_group("gloo")
    torch.cuda.synchronize()


def more_ranks_than_gpus() -> None:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) + 1)


WRONG = {
    function.__name__: function
    for function in (
        every_rank_on_gpu_0,
        same_gpu_as_device_id,
        barrier_without_device_id,
        unbatched_message,
        tensor_of_the_cpu,
        message_over_gloo,
        another_current_gpu,
        synchronize_without_set_device,
        more_ranks_than_gpus,
    )
}
