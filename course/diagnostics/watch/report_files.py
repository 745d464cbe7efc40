"""What the ranks report of their steps: a file for each, written whole or not at all."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Protocol


class RankFacts(Protocol):
    """What every report, a dataclass, says of its rank; `local` counts those of this machine."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    rank: int
    world: int
    local: int
    backend: str


def launched_as() -> tuple[int, int]:
    """The rank of this process, and how many there are, as its launcher says; or else 0 and 1."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def local_ranks(world: int) -> int:
    """How many ranks of a world are on this machine, as the launcher says; or else all."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", world))


def is_of_a_rank(report: RankFacts) -> bool:
    """Whether this process is a rank: it has joined a group, or a launcher has started it as one.

    A loader's worker is not, nor a process that only starts the ranks.
    """
    return bool(report.backend) or "RANK" in os.environ


def write(report: RankFacts, folder: Path) -> None:
    """Write the report of a rank; a folder that is gone is not made again."""
    path = folder / f"rank{report.rank}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(report)))
    part.replace(path)


def all_have_reported(folder: Path, everywhere: bool = False) -> bool:
    """Whether all ranks of this machine have, or `everywhere`; one knows how many there are."""
    files = list(folder.glob("rank*.json"))
    count = "world" if everywhere else "local"
    return bool(files) and len(files) == json.loads(files[0].read_text())[count]


def can_be_ended(folder: Path) -> bool:
    """Whether all ranks of this machine have reported, and go on."""
    return all_have_reported(folder) and go_on(folder)


def go_on(folder: Path) -> bool:
    """Whether the scripts of all ranks that have reported went on after it.

    A script that has ended, or failed, ends its run itself, with an exit code of its own.
    """
    reports = [json.loads(path.read_text()) for path in folder.glob("rank*.json")]
    return not any(report.get("is_over") for report in reports)
