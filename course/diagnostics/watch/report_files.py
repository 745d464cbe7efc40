"""Write and count the reports of the ranks: one file per rank, written whole or not at all."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Protocol

from course.core import CourseError


class RankFacts(Protocol):
    """The fields on its rank that every report has; `local` is the number of ranks of a machine.

    A report is a dataclass.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    rank: int
    world: int
    local: int
    backend: str


def launched_as() -> tuple[int, int]:
    """The rank of this process and the world size, by its launcher; 0 and 1 without a launcher."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def local_ranks(world: int) -> int:
    """The number of ranks on this machine, by the launcher; without a launcher, all of `world`."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", world))


def is_of_a_rank(report: RankFacts) -> bool:
    """Whether this process is a rank: it has joined a group, or a launcher has started it as one.

    Neither a loader's worker is a rank, nor a process that only starts the ranks.
    """
    return bool(report.backend) or "RANK" in os.environ


def write(report: RankFacts, folder: Path) -> None:
    """Write the report of a rank; raises `OSError` if the folder no longer exists."""
    path = folder / f"rank{report.rank}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(report)))
    part.replace(path)


def require_ranks(reports: Sequence[RankFacts]) -> None:
    """Raise `CourseError` if there are no reports, or if they are not of ranks of one run."""
    if not reports:
        raise CourseError("No rank came to its end, so nothing was seen of any step.")
    if max(report.world for report in reports) < 2:
        raise CourseError(
            "This was one process, so there is nothing to compare. Start at least two, with "
            "torchrun --nproc-per-node 2."
        )
    if not all(report.backend for report in reports):
        raise CourseError(
            "The script never called torch.distributed.init_process_group, so its ranks know "
            "nothing of one another."
        )


def all_have_reported(folder: Path, everywhere: bool = False) -> bool:
    """Whether all ranks of this machine, or of all machines, have written their reports.

    Any one report has the number of ranks.
    """
    files = list(folder.glob("rank*.json"))
    count = "world" if everywhere else "local"
    return bool(files) and len(files) == json.loads(files[0].read_text())[count]


def can_be_ended(folder: Path) -> bool:
    """Whether the run may be ended: all ranks of this machine have reported, and go on."""
    return all_have_reported(folder) and are_still_running(folder)


def are_still_running(folder: Path) -> bool:
    """Whether the scripts of all ranks that have reported were still running then.

    A script that has ended or failed ends the run itself, with its own exit code.
    """
    reports = [json.loads(path.read_text()) for path in folder.glob("rank*.json")]
    return not any(report.get("is_over") for report in reports)
