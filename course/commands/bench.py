"""``python -m course bench``: the code of the labs against torch's own, on this box."""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import quantiles

from course import hardware
from course.commands.bench_results import Result, side_by_side, write
from course.core import CourseError, todo
from course.launch import Reason, Run, launch, warm_up

SCRIPT = Path(__file__).with_name("bench_on_ranks.py")
MEET = Path(__file__).with_name("bench_meet.py")
LIMIT_S = 300.0
ROUNDS = 15
LAUNCHES = 5


@dataclass(frozen=True)
class Contest:
    """Two ways to do the same; `needs` are the scripts of the labs that they take.

    `means` is a sentence for the ratio, which stands where its {ratio} is.
    """

    name: str
    first: str
    second: str
    needs: tuple[str, ...]
    means: str
    fewest_ranks: int = 1


HOROVOD = ("hvd_negotiation", "hvd_fusion", "hvd_start", "hvd_optimizer", "hvd")
STEP = "A step of training takes {ratio} times as long with yours as with torch's."
CONTESTS = (
    Contest(
        "ring",
        "your ring, 16 MB",
        "torch's all-reduce",
        ("simple_ways", "ring"),
        "Your ring takes {ratio} times as long as the library that torch calls.",
    ),
    Contest("buckets", "your DDP with buckets, per step", "torch's DDP", ("my_buckets",), STEP),
    Contest("horovod", "your Horovod style, per step", "torch's DDP", HOROVOD, STEP),
    Contest("zero_one", "your ZeRO-1, per step", "torch's ZeRO-1", ("zero_one",), STEP),
    Contest("fsdp", "your FSDP, per step", "torch's fully_shard", ("my_fsdp",), STEP),
    Contest("pipeline", "your 1F1B, per step", "torch's 1F1B", ("my_schedule",), STEP, 2),
    Contest(
        "ddp",
        "torch's DDP, per step",
        "no communication",
        (),
        "Averaging gradients makes a step {ratio} times as long.",
    ),
    Contest(
        "exposed",
        "what DDP adds to a step",
        "its all-reduces alone",
        (),
        "0: all of the communication hides behind computing; 1: none of it; here {ratio}. "
        "Above 1, DDP costs more than its messages.",
        2,
    ),
    Contest(
        "forecast",
        "a step as you predict it",
        "the step as it was",
        ("predict",),
        "Your prediction is {ratio} times what was measured.",
        2,
    ),
)


MEANS = {contest.name: contest.means for contest in CONTESTS}
MEANS["launch"] = "A cell waits {ratio} times as long for its ranks as a terminal does."


def all_results(ranks: int, src: Path, rounds: int = ROUNDS) -> Iterator[Result]:
    """Every contest on `ranks` ranks with the scripts in `src`, one after another."""
    warm_up()
    for contest in CONTESTS:
        yield compete(contest, ranks, src, rounds)
    yield race_of_launches()


def compete(contest: Contest, ranks: int, src: Path, rounds: int = ROUNDS) -> Result:
    """Run one contest of so many rounds on `ranks` ranks with the scripts in `src`."""
    result = Result(contest.name, contest.first, contest.second, ranks)
    if ranks < contest.fewest_ranks:
        return replace(result, note=f"needs {contest.fewest_ranks} ranks")
    if lacking := _lacking([src / f"{name}.py" for name in contest.needs]):
        return replace(result, note=lacking)
    torchrun = ["torchrun", "--standalone", "--nproc-per-node", str(ranks)]
    run = launch([*torchrun, str(SCRIPT), contest.name, str(src), str(rounds)], limit=LIMIT_S)
    if not run.ok:
        return replace(result, note=_failure(run))
    return _judged(result, [row["first"] / row["second"] for row in run.rows])


def race_of_launches() -> Result:
    """Two ranks that only meet, started warm as from a notebook, against torchrun in a terminal."""
    result = Result("launch", "2 ranks, started from a cell", "torchrun in a terminal", 2)
    torchrun = ["torchrun", "--standalone", "--nproc-per-node", "2", str(MEET)]
    cold = [sys.executable, "-m", "torch.distributed.run", *torchrun[1:]]
    launch(torchrun, limit=LIMIT_S)
    ratios = []
    for _ in range(LAUNCHES):
        start = time.perf_counter()
        run = launch(torchrun, limit=LIMIT_S)
        middle = time.perf_counter()
        done = subprocess.run(cold, capture_output=True, timeout=LIMIT_S)
        if not run.ok or done.returncode:
            return replace(result, note="failed: the two ranks did not meet")
        ratios.append((middle - start) / (time.perf_counter() - middle))
    return _judged(result, ratios)


def _judged(result: Result, ratios: Sequence[float]) -> Result:
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
    if args.rounds < 2:
        raise CourseError("A median takes several rounds: give --rounds a number above 1.")
    warm_up()
    print(hardware.card())
    print(f"\n{'time of':31} {'relative to':22} ranks   1.0 = equal: median (middle half)")
    results = []
    for result in all_results(ranks, args.src.resolve(), args.rounds):
        results.append(result)
        print(result.row(), flush=True)
    if args.json:
        write(results, args.json)
    print()
    for result in results:
        if result.ratio is not None:
            print(f"{result.contest}: {MEANS[result.contest].format(ratio=f'{result.ratio:.2f}')}")
    return 1 if any(result.ratio is None for result in results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m course bench", description="The labs' code against torch's own."
    )
    parser.add_argument(
        "--src", type=Path, default=Path("labs/src"), metavar="DIR", help="the scripts of the labs"
    )
    parser.add_argument("--ranks", type=int, help="how many (default: as many as the labs use)")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="more on a noisy machine (default: %(default)s)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    parser.add_argument(
        "--compare",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="hold no contest: show what --json wrote on several machines side by side",
    )
    return parser
