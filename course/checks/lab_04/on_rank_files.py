"""What a rank sees of a saved file: how it differs from what was saved, and what is done to it."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch


def difference(got: object, wanted: object, place: str = "the state") -> str:
    """The first place where two nested states differ, bit by bit; "" if there is none."""
    if type(got) is not type(wanted):
        return f"{place} is of type {type(got).__name__} instead of {type(wanted).__name__}"
    if isinstance(wanted, torch.Tensor):
        if got.dtype != wanted.dtype:
            return f"{place} is {got.dtype} instead of {wanted.dtype}"
        bits = [tensor.flatten().view(torch.uint8) for tensor in (got, wanted)]
        same = got.shape == wanted.shape and torch.equal(*bits)
        return "" if same else f"{place} is {got} instead of {wanted}"
    if isinstance(wanted, dict | list | tuple):
        names = wanted.keys() if isinstance(wanted, dict) else range(len(wanted))
        if set(got if isinstance(got, dict) else range(len(got))) != set(names):
            return f"{place} has other entries than it should: {len(got)} instead of {len(wanted)}"
        parts = (difference(got[name], wanted[name], f"{place}[{name!r}]") for name in names)
        return next(filter(None, parts), "")
    return "" if got == wanted else f"{place} is {got} instead of {wanted}"


def watch(path: Path, harmed: Callable[[str], None], renamed: Callable[[Path], None]) -> None:
    """From now on tell what this process does to a file.

    `harmed` hears of what a kill would lose the file by, `renamed` which file gets its name.
    """
    verbs = {"os.remove": "it is removed", "os.truncate": "it is cut"}

    def look(event: str, given: tuple) -> None:
        if event == "os.rename" and Path(os.fsdecode(given[1])).absolute() == path:
            renamed(Path(os.fsdecode(given[0])).absolute())
        elif event in ("open", "os.rename", *verbs) and isinstance(given[0], str | os.PathLike):
            if Path(given[0]).absolute() != path:
                return
            if event != "open":
                harmed(verbs.get(event, "it is moved away"))
            elif given[2] & (os.O_WRONLY | os.O_RDWR):
                harmed("it is opened to be written")

    sys.addaudithook(look)
