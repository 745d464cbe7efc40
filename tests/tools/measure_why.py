"""How often is `why` right? ``python tests/tools/measure_why.py [--ranks 2 4] [--busy 2]``.

It runs each script of `SCRIPTS` with each fault that it can have, and prints the first causes.

    PYTHONPATH=tests python tests/tools/measure_why.py --record [NAME ...]

runs the named runs of tests/support/why_runs.py, by default those that were never recorded. It
keeps the reports of their ranks in tests/diagnostics/why/recorded/cpus, for the tests to judge.
The machine must be quiet: if other programs use much of it before or during a run, this ends, and
keeps what was recorded so far.
"""

import argparse
import json
import lzma
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from support.watching import watch_ranks
from support.why_runs import PLANTED, RECORDED, RUNS, Run, is_right, small

from course.checks.runner.on_ranks import await_warm_ranks
from course.core import CourseError
from course.diagnostics import WhyAnswer
from course.diagnostics.why.thresholds import BUSY
from course.launch import warm_up

PLANTS = Path(__file__).parents[1] / "diagnostics" / "why" / "plants"
# By script of `PLANTS`: the faults of the others that it cannot have.
SCRIPTS = {
    "plain_ddp": (),
    "by_hand": ("unused parameters",),
    "with_accelerate": (),
    "with_trainer": ("latency", "accumulation", "not sharded"),
}
CAUSES = {run.words: run.cause for run in PLANTED if Path(run.script).name in SCRIPTS}
CAUSES |= {"straggler in input": "straggler", "synchronization": "synchronization"}
LOAD_S = 2.0  # how long to measure the machine's load before a run


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Keep this many cores busy inside the block."""
    command = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(loops)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def main() -> None:
    """Run all scripts and count the right answers, or record runs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, nargs="+", default=[2])
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--scripts", nargs="+", default=list(SCRIPTS))
    parser.add_argument("--record", nargs="*", metavar="NAME")
    args = parser.parse_args()
    warm_up()
    await_warm_ranks()
    if args.record is not None:
        record(args.record)
        return
    right = total = 0
    with busy(args.busy), tempfile.TemporaryDirectory() as folder:
        for ranks in args.ranks:
            for script in args.scripts:
                for fault in (fault for fault in CAUSES if fault not in SCRIPTS[script]):
                    good, text = run_live(script, fault, ranks, folder)
                    right, total = right + good, total + 1
                    mark = "ok   " if good else "WRONG"
                    print(f"{mark} {script:15} {ranks} ranks  {fault:22} {text}", flush=True)
    print(f"{right} of {total}: {right / total:.1%}")


def record(names: list[str]) -> None:
    """Record these runs, or without names all that were never recorded."""
    if unknown := set(names) - {run.name for run in RUNS}:
        raise SystemExit(f"RUNS of tests/support/why_runs.py has no run {', '.join(unknown)}.")
    for run in RUNS:
        file = RECORDED / run.file
        if run.name in names if names else not file.exists():
            refuse_if_busy(run, psutil.cpu_percent(LOAD_S) / 100)
            plain = json.dumps(reports_of(run), separators=(",", ":")).encode()
            file.write_bytes(lzma.compress(plain, preset=9))


def refuse_if_busy(run: Run, load: float) -> None:
    """Exit if other programs had too large a share of the cores before or during a run."""
    if load >= BUSY:
        raise SystemExit(
            f"{run.name}: other programs had {load:.0%} of the cores, so this run is not kept, and "
            "those before it are: record on a quiet machine."
        )


def reports_of(run: Run) -> list[dict]:
    """The reports of a run's ranks; prints whether `why` finds the right cause in them."""
    with tempfile.TemporaryDirectory() as folder:
        done, ranks = watch_ranks(run.command(Path(folder)))
    if not done.ok:
        raise SystemExit(f"{run.name}: {done.text(done.first_failed)}")
    answer = WhyAnswer(ranks)
    load = answer.diagnosis.elsewhere or 0.0
    refuse_if_busy(run, load)
    causes = "; ".join(
        f"{cause.name} {cause.share:.2f} {cause.location}" for cause in answer.causes[:3]
    )
    mark = "ok   " if is_right(run, answer) else "WRONG"
    print(f"{mark} {run.name:50} {causes}  (others {load:.0%})", flush=True)
    return small(ranks)


def run_live(script: str, fault: str, ranks: int, folder: str) -> tuple[bool, str]:
    """Whether the first cause is right, and a message with the causes or the error."""
    words = ["torchrun", "--standalone", "--nproc-per-node", str(ranks)]
    run, reports = watch_ranks([*words, str(PLANTS / f"{script}.py"), fault, folder])
    if not run.ok:
        return False, "failed: " + run.raised(run.first_failed or 0)
    try:
        answer = WhyAnswer(reports)
    except CourseError as error:
        return False, str(error)
    first = answer.causes[0]
    names = {CAUSES[fault]}
    if (script, fault) == ("by_hand", "buffers"):  # the script itself broadcasts them
        names.add("synchronization")
    at_its_place = first.rank == 1 and fault.split()[-1] in first.step_part
    causes = "; ".join(f"{cause.name} {cause.share:.2f}" for cause in answer.causes[:3])
    right = first.name in names and (first.name != "straggler" or at_its_place)
    return right, f"{causes}  (others {answer.diagnosis.elsewhere or 0.0:.0%})"


if __name__ == "__main__":
    main()
