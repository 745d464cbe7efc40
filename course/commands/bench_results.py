"""What `bench` found: a row per contest, the file that keeps it, and files of several machines."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from course import hardware
from course.core import CourseError, write_whole

NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # of machines in a comparison


@dataclass(frozen=True)
class Result:
    """The time of `first` relative to `second` (1.0 = equal), or a note why there is none.

    `ratio` is the median over the rounds; half of the rounds lie between `low` and `high`.
    """

    contest: str
    first: str
    second: str
    ranks: int
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""

    @property
    def measured(self) -> str:
        """The ratio and the middle half, or the note."""
        if self.ratio is None:
            return self.note
        return f"{self.ratio:.2f} × ({self.low:.2f} – {self.high:.2f})"

    def row(self) -> str:
        """One line of the table."""
        return f"{self.first:31} {self.second:22} {self.ranks:5}   {self.measured}"


def write(results: Sequence[Result], path: Path) -> None:
    """Write the results with the box and the day they come from."""
    facts = {
        "box": str(hardware.card()),
        "date": time.strftime("%Y-%m-%d"),
        "results": [asdict(result) for result in results],
    }
    write_whole(path, json.dumps(facts, indent=1) + "\n")


def side_by_side(paths: Sequence[Path]) -> str:
    """The files of several machines as one table: a line per contest, a column per machine.

    Raises `CourseError` where a file is not one that `write` wrote.
    """
    if len(paths) > len(NAMES):
        raise CourseError(f"A comparison has room for {len(NAMES)} files, not for {len(paths)}.")
    machines = [_read(path) for path in paths]
    lines = [f"{name}  {box}" for name, (box, _) in zip(NAMES, machines, strict=False)]
    header = "".join(f"{name:24}" for name in NAMES[: len(machines)])
    lines += ["", f"{'time of':31} {'relative to':22} {header}".rstrip()]
    contests = {result.contest: result for _, results in machines for result in results.values()}
    for contest, any_result in contests.items():
        cells = "".join(_cell(results.get(contest)) for _, results in machines)
        lines.append(f"{any_result.first:31} {any_result.second:22} {cells}".rstrip())
    return "\n".join([*lines, "", "1.0 = equal, less: the first is faster; median (middle half)"])


def _cell(result: Result | None) -> str:
    """What stands in a column: 23 characters of it, so that the next one stays in place."""
    return f"{result.measured[:23] if result else '–':24}"


def _read(path: Path) -> tuple[str, dict[str, Result]]:
    """The box with its day in one line, and the results by contest."""
    try:
        facts = json.loads(path.read_text())
        results = [Result(**row) for row in facts["results"]]
        card = "; ".join(" ".join(line.split()) for line in facts["box"].splitlines())
        box = f"{path.name}, {facts['date']}: {card}"
        return box, {result.contest: result for result in results}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        fix = "give files that `bench --json FILE` wrote"
        raise CourseError(f"{path} is not a bench of a machine: {fix}.") from error
