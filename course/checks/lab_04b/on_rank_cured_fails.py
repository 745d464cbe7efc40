"""What the checks of cured_fails do on each rank."""

import importlib
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist

from course.checks.lab_04.on_rank_files import difference
from course.checks.lab_04b.on_rank_clinic import held, impatient

TEXT = "young old\nmusician  athlete \n"
OLD = "an old file\n"
NO_NETWORK = "the network is down"


def fetch(folder: str) -> list[tuple[str, int]]:
    """What this rank reads, and how often it downloaded, for each of two files.

    An old one of the second is there. Half of the text comes first, and the rest only when the
    other ranks wait or have gone on.
    """
    module, results = importlib.import_module("cured_fails"), []
    if dist.get_rank() == 0:
        Path(folder, "labels.txt").write_text(OLD)
    for name in ("words", "labels"):
        path, called = Path(folder, f"{name}.txt"), []
        with impatient(), held(Path(folder)) as hold:

            def download(target: Path, called: list = called, hold: Callable = hold) -> None:
                called.append(target)
                Path(target).write_text(TEXT[:10])
                hold()
                Path(target).write_text(TEXT)

            results.append((module.fetch(path, download), len(called)))
    return results


def failed(folder: str) -> list[str | None]:
    """The error that is raised if the download fails, with an old file at its place and without."""
    module, raised = importlib.import_module("cured_fails"), []

    def download(path: Path) -> None:
        raise OSError(NO_NETWORK)

    Path(folder, "old.txt").write_text(OLD)
    for name in ("old.txt", "none.txt"):
        try:
            module.fetch(Path(folder, name), download)
            raised.append(None)
        except Exception as error:
            raised.append(str(error))
    return raised


def tensors(lengths: list[int]) -> dict[str, list[torch.Tensor]]:
    """By kind, the tensor of each rank: numbers that are also used as padding, and large ones."""
    numbers = [torch.arange(length) - 1 - rank for rank, length in enumerate(lengths)]
    return {
        "int64": [torch.where(tensor > 1, tensor + 2**53, tensor).flip(0) for tensor in numbers],
        "float64": [torch.where(tensor == 1, torch.nan, tensor.double() / 3) for tensor in numbers],
        "uint8": [(tensor % 3).to(torch.uint8) for tensor in numbers],
    }


def gather(lengths: list[int]) -> dict[str, tuple[str, bool]]:
    """By kind of tensor: how what is gathered differs from what the ranks had, "" if it does not.

    Also whether this rank's own tensor has stayed as it was.
    """
    module, rank, results = importlib.import_module("cured_fails"), dist.get_rank(), {}
    for kind, everyones in tensors(lengths).items():
        mine = everyones[rank].clone()
        with impatient():
            together = module.gather(mine)
        results[kind] = (
            difference(together, torch.cat(everyones), "the result"),
            not difference(mine, everyones[rank]),
        )
    return results
