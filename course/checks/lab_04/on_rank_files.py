"""Watch a saved file on a rank: how it differs from what was saved, and what is done to it."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch


def difference(got: object, expected: object, place: str = "the state") -> str:
    """The first place where two nested states differ, bit by bit; "" if there is none."""
    if type(got) is not type(expected):
        return f"{place} is of type {type(got).__name__} instead of {type(expected).__name__}"
    if isinstance(expected, torch.Tensor):
        if got.dtype != expected.dtype:
            return f"{place} is {got.dtype} instead of {expected.dtype}"
        bits = [tensor.flatten().view(torch.uint8) for tensor in (got, expected)]
        same = got.shape == expected.shape and torch.equal(*bits)
        return "" if same else f"{place} is {got} instead of {expected}"
    if isinstance(expected, dict | list | tuple):
        names = expected.keys() if isinstance(expected, dict) else range(len(expected))
        if set(got if isinstance(got, dict) else range(len(got))) != set(names):
            return (
                f"{place} has other entries than it should: {len(got)} instead of {len(expected)}"
            )
        parts = (difference(got[name], expected[name], f"{place}[{name!r}]") for name in names)
        return next(filter(None, parts), "")
    return "" if got == expected else f"{place} is {got} instead of {expected}"


def watch(path: Path, harmed: Callable[[str], None], renamed: Callable[[Path], None]) -> None:
    """From now on, report what this process does to a file.

    `harmed` is called with a phrase for each act after which a kill would lose the file, `renamed`
    with the file that gets its name.
    """
    verbs = {"os.remove": "it is removed", "os.truncate": "it is cut"}

    def look(event: str, arguments: tuple) -> None:
        if event == "os.rename" and Path(os.fsdecode(arguments[1])).absolute() == path:
            renamed(Path(os.fsdecode(arguments[0])).absolute())
        elif event in ("open", "os.rename", *verbs) and isinstance(arguments[0], str | os.PathLike):
            if Path(arguments[0]).absolute() != path:
                return
            if event != "open":
                harmed(verbs.get(event, "it is moved away"))
            elif arguments[2] & (os.O_WRONLY | os.O_RDWR):
                harmed("it is opened to be written")

    sys.addaudithook(look)
