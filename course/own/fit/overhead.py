"""What a GPU holds beside tensors: the context of CUDA, NCCL, cuBLAS. From documents."""

import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """One of them: its size, how it comes to it, and the page that says so.

    `several` says that it is there only with several ranks.
    """

    name: str
    nbytes: int
    how: str
    address: str
    read: date
    several: bool = False


@cache
def _all() -> tuple[Part, ...]:
    text = Path(__file__).with_name("overhead.toml").read_text()
    return tuple(Part(**each) for each in tomllib.loads(text)["part"])


def parts(ranks: int) -> list[Part]:
    """What each of so many ranks holds."""
    return [part for part in _all() if ranks > 1 or not part.several]


def nbytes(ranks: int) -> int:
    """All of it, in bytes."""
    return sum(part.nbytes for part in parts(ranks))
