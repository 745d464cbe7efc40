"""What the checks of `resumable` do on each rank: train, be interrupted, go on."""

import importlib
import os
import signal
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils.data import TensorDataset

from course.checks.tools.leaks import count_process_groups
from course.checks.tools.reference import furthest, weights

SIZE, BATCH = 480, 48  # samples in all, and of a step


class Few:
    """Random images and labels in place of the digits, which take a second to load."""

    @staticmethod
    def load() -> tuple[TensorDataset]:
        generator = torch.Generator().manual_seed(0)
        images = torch.randn(SIZE, 1, 8, 8, generator=generator)
        return (TensorDataset(images, torch.randint(10, (SIZE,), generator=generator)),)


def script():
    """The learner's script, quiet, as it is at the start of a process."""
    module = importlib.import_module("resumable")
    module.log, module.print = (lambda **row: None), (lambda *args, **kwargs: None)
    module.told_to_stop, module.digits = False, Few
    return module


def shares(steps: tuple[int, ...], size: int = SIZE) -> dict[int, list[int]]:
    """The indices, out of `size` samples, that this rank takes in each of the steps."""
    share = script().share
    return {step: torch.as_tensor(share(step, size)).tolist() for step in steps}


def agreement(cases: tuple[tuple[int, ...], ...]) -> tuple[list[bool], int]:
    """What `all_stop` answers on this rank, for each set of ranks that got the signal, and how many
    process groups it makes for that.
    """
    module, answers, before = script(), [], count_process_groups()
    for signalled in cases:
        module.told_to_stop = dist.get_rank() in signalled
        answers.append(bool(module.all_stop()))
    return answers, count_process_groups() - before


def run(path: str, steps: int) -> list[Tensor]:
    """The weights after training to step `steps`, from the checkpoint at `path` if there is one."""
    return weights(script().train(steps, 3, Path(path)).module)


def interrupted(signalled: int, after: int) -> tuple[int, int]:
    """Signal that rank in step `after` of ten: this rank's last step, and the checkpoint's."""
    module, path = script(), shared_folder() / "checkpoint.pt"
    done, share = [], module.share

    def counting(step: int, size: int) -> Tensor:
        done.append(step)
        if step == after and dist.get_rank() == signalled:
            os.kill(os.getpid(), signal.SIGTERM)
        return share(step, size)

    signal.signal(signal.SIGTERM, module.on_signal)
    module.share = counting
    module.train(10, 100, path)
    dist.barrier()  # rank 0 has saved
    return done[-1], torch.load(path)["step"]


def resumed() -> float:
    """How far the weights are off after 3 of 6 steps, an end, and a new start."""
    folder = shared_folder()
    whole = run(str(folder / "whole.pt"), 6)
    run(str(folder / "parts.pt"), 3)
    dist.barrier()
    return furthest(run(str(folder / "parts.pt"), 6), whole)


def shared_folder() -> Path:
    """A new folder that all ranks know."""
    name = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(name)
    return Path(name[0])


def continued(folder: str) -> float:
    """How far the weights of a run continued here are from those of one begun here."""
    parts = run(f"{folder}/parts.pt", 6)
    return furthest(parts, run(f"{folder}/here.pt", 6))
