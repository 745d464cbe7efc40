"""``python -m course bench``: what was written in the labs against torch's own, on this box, side by side."""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import quantiles

from course import hardware
from course.core import CourseError, todo
from course.launch import Run, connect, launch

RACE = Path(__file__).with_name("bench_on_ranks.py")
LIMIT_S = 300.0


@dataclass(frozen=True)
class Contest:
    """Two ways to do the same: `first` is held against `second`; `needs` are the scripts of the labs it takes."""

    name: str
    first: str
    second: str
    needs: tuple[str, ...]


CONTESTS = (
    Contest("ring", "your ring, 16 MB", "torch's all-reduce", ("simple_ways", "ring")),
    Contest("buckets", "your DDP with buckets, a step", "torch's DDP", ("my_ddp", "my_buckets")),
    Contest("horovod", "your Horovod style, a step", "torch's DDP", ("hvd",)),
    Contest("limit", "torch's DDP, a step", "no communication", ()),
)


@dataclass(frozen=True)
class Result:
    """How many times as long the first takes as the second: the median over rounds and the middle half's marks."""

    contest: str
    first: str
    second: str
    ranks: int
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""

    def row(self) -> str:
        """One line of the table."""
        measured = (
            f"{self.ratio:5.2f} ×   ({self.low:.2f} – {self.high:.2f})" if self.ratio else self.note
        )
        return f"{self.first:31} {self.second:20} {self.ranks:5}   {measured}"


def compete(contest: Contest, ranks: int, src: Path) -> Result:
    """Run one contest on `ranks` ranks with the scripts in `src`."""
    known = (contest.name, contest.first, contest.second, ranks)
    if missing := [name for name in contest.needs if not (src / f"{name}.py").is_file()]:
        return Result(*known, note=f"{missing[0]}.py is not in {src} yet")
    if still := [open_ for name in contest.needs for open_ in todo.open_todos(src / f"{name}.py")]:
        return Result(*known, note=f"still to write: {still[0]}")
    command = [
        "torchrun",
        "--standalone",
        "--nproc-per-node",
        str(ranks),
        str(RACE),
        contest.name,
        str(src),
    ]
    run = launch(command, limit=LIMIT_S)
    if not run.ok:
        return Result(*known, note=_failure(run))
    low, median, high = quantiles(
        (row["first"] / row["second"] for row in run.rows), n=4, method="inclusive"
    )
    return Result(*known, median, low, high)


def _failure(run: Run) -> str:
    if run.reason != "finished":
        return f"ended: {run.reason}"
    lines = run.traceback(run.first_failed).splitlines() if run.first_failed is not None else []
    return f"failed: {lines[-1] if lines else 'a rank ended without saying why'}"


def main(argv: Sequence[str]) -> int:
    """Print the table; 1 if a contest could not be held."""
    parser = argparse.ArgumentParser(
        prog="python -m course bench", description="The labs' code against torch's own."
    )
    parser.add_argument(
        "--src", type=Path, default=Path("labs/src"), metavar="DIR", help="the scripts of the labs"
    )
    parser.add_argument(
        "--ranks", type=int, help="how many (as many as the labs use, if not given)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    args = parser.parse_args(argv)
    if not args.src.is_dir():
        raise CourseError(
            f"There is no folder {args.src}: give --src the folder that holds the labs' scripts."
        )
    ranks = args.ranks if args.ranks is not None else hardware.ranks()
    if ranks < 1:
        raise CourseError(f"There is no contest on {ranks} ranks: give --ranks a number above 0.")
    connect.warm_up()
    print(hardware.card())
    print(
        f"\n{'how many times as long takes':31} {'as':20} ranks   median (middle half) of paired rounds"
    )
    results = []
    for contest in CONTESTS:
        results.append(compete(contest, ranks, args.src.resolve()))
        print(results[-1].row(), flush=True)
    if args.json:
        facts = {
            "box": str(hardware.card()),
            "date": time.strftime("%Y-%m-%d"),
            "results": list(map(asdict, results)),
        }
        args.json.write_text(json.dumps(facts, indent=1) + "\n")
    return int(any(result.ratio is None for result in results))
