"""The memory of a GPU besides tensors: CUDA's context, and what cuBLAS and NCCL need.

The numbers are from documents, or were measured by `tests/tools/measure_fit_on_gpu.py`.
"""

import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

MEASURED = Path(__file__).with_name("measured.toml")  # written by that tool


@dataclass(frozen=True)
class Part:
    """One part of this memory: its size in bytes, and where that number comes from.

    `how` explains the size, `address` is the page that gives it, and `read` is the day on which the
    page was read or the size was measured. `device` is the GPU on which it was measured, if it was.
    `several`: only runs of several ranks have this part.
    """

    name: str
    nbytes: int
    how: str
    read: date
    address: str = ""
    device: str = ""
    several: bool = False

    @property
    def source(self) -> str:
        """The source of the number, in words."""
        return f"measured on {self.device}" if self.device else "from documents, not measured"


@cache
def every_part() -> tuple[Part, ...]:
    """All parts, each once; a measured number replaces the one from documents."""
    paths = [Path(__file__).with_name("overhead.toml"), MEASURED]
    texts = [path.read_text() for path in paths if path.exists()]
    parts = [Part(**table) for text in texts for table in tomllib.loads(text)["part"]]
    return tuple({part.name: part for part in parts}.values())


def parts(ranks: int) -> list[Part]:
    """The parts that each rank holds in a run of that many ranks."""
    return [part for part in every_part() if ranks > 1 or not part.several]


def nbytes(ranks: int) -> int:
    """The sum of these parts, in bytes."""
    return sum(part.nbytes for part in parts(ranks))
