"""``python -m course bench``: the code of the labs against torch's own, on this box."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import quantiles

from course import hardware
from course.commands.bench_results import Result, side_by_side, write
from course.core import CourseError, todo
from course.launch import Reason, Run, launch, warm_up

SCRIPT = Path(__file__).with_name("bench_on_ranks.py")
LIMIT_S = 300.0


@dataclass(frozen=True)
class Contest:
    """Two ways to do the same; `needs` are the scripts of the labs that they take."""

    name: str
    first: str
    second: str
    needs: tuple[str, ...]


HOROVOD = ("hvd_negotiation", "hvd_fusion", "hvd_start", "hvd_optimizer", "hvd")
CONTESTS = (
    Contest("ring", "your ring, 16 MB", "torch's all-reduce", ("simple_ways", "ring")),
    Contest("buckets", "your DDP with buckets, per step", "torch's DDP", ("my_buckets",)),
    Contest("horovod", "your Horovod style, per step", "torch's DDP", HOROVOD),
    Contest("ddp", "torch's DDP, per step", "no communication", ()),
)


def compete(contest: Contest, ranks: int, src: Path) -> Result:
    """Run one contest on `ranks` ranks with the scripts in `src`."""
    result = Result(contest.name, contest.first, contest.second, ranks)
    if lacking := _lacking([src / f"{name}.py" for name in contest.needs]):
        return replace(result, note=lacking)
    torchrun = ["torchrun", "--standalone", "--nproc-per-node", str(ranks)]
    run = launch([*torchrun, str(SCRIPT), contest.name, str(src)], limit=LIMIT_S)
    if not run.ok:
        return replace(result, note=_failure(run))
    ratios = [row["first"] / row["second"] for row in run.rows]
    low, median, high = quantiles(ratios, n=4, method="inclusive")
    return replace(result, ratio=median, low=low, high=high)


def _lacking(scripts: Sequence[Path]) -> str:
    """What is not there, or not yet written, of these scripts; "" where all is."""
    for script in scripts:
        if not script.is_file():
            return f"{script.name} is not in {script.parent} yet"
    todos = [open_todo for script in scripts for open_todo in todo.open_todos(script)]
    return f"still to write: {todos[0]}" if todos else ""


def _failure(run: Run) -> str:
    if run.reason != Reason.FINISHED:
        return f"ended: {run.reason}"
    lines = run.traceback(run.first_failed).splitlines() if run.first_failed is not None else []
    return f"failed: {lines[-1] if lines else 'a rank ended without saying why'}"


def main(argv: Sequence[str]) -> int:
    """Print the table; 1 if a contest could not be held."""
    args = _parser().parse_args(argv)
    if args.compare:
        print(side_by_side(args.compare))
        return 0
    if not args.src.is_dir():
        fix = "give --src the folder that holds the labs' scripts"
        raise CourseError(f"There is no folder {args.src}: {fix}.")
    ranks = args.ranks if args.ranks is not None else hardware.ranks()
    if ranks < 1:
        raise CourseError(f"There is no contest on {ranks} ranks: give --ranks a number above 0.")
    warm_up()
    print(hardware.card())
    print(f"\n{'time of':31} {'relative to':20} ranks   1.0 = equal: median (middle half)")
    results = []
    for contest in CONTESTS:
        results.append(compete(contest, ranks, args.src.resolve()))
        print(results[-1].row(), flush=True)
    if args.json:
        write(results, args.json)
    return 1 if any(result.ratio is None for result in results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m course bench", description="The labs' code against torch's own."
    )
    parser.add_argument(
        "--src", type=Path, default=Path("labs/src"), metavar="DIR", help="the scripts of the labs"
    )
    parser.add_argument("--ranks", type=int, help="how many (default: as many as the labs use)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    parser.add_argument(
        "--compare",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="hold no contest: show what --json wrote on several machines side by side",
    )
    return parser
