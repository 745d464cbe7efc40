"""What a GPU holds beside tensors: the context of CUDA, NCCL, cuBLAS.

From documents, or as `tests/tools/measure_fit_on_gpu.py` has measured it.
"""

import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

MEASURED = Path(__file__).with_name("measured.toml")  # the tool writes it


@dataclass(frozen=True)
class Part:
    """One of them: its size, how it comes to it, and the page that says so.

    `device` is the GPU on which it was measured, if it was. `several` says that it is there only
    with several ranks.
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
        """Where the number comes from."""
        return f"measured on {self.device}" if self.device else "from documents, not measured"


@cache
def every_part() -> tuple[Part, ...]:
    """By name: what was measured takes the place of what is from documents."""
    paths = [Path(__file__).with_name("overhead.toml"), MEASURED]
    texts = [path.read_text() for path in paths if path.exists()]
    parts = [Part(**each) for text in texts for each in tomllib.loads(text)["part"]]
    return tuple({part.name: part for part in parts}.values())


def parts(ranks: int) -> list[Part]:
    """What each of so many ranks holds."""
    return [part for part in every_part() if ranks > 1 or not part.several]


def nbytes(ranks: int) -> int:
    """All of it, in bytes."""
    return sum(part.nbytes for part in parts(ranks))
