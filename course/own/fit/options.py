"""What one may write after `fit`, in a terminal and in a notebook, and the answer to it."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from course.core import words
from course.own.fit import answer, command, stage
from course.own.fit.answer import Answer
from course.own.say import report
from course.own.say.options import Parser

GPUS, MEMORY = "1,2,4,8", "24,80"


def fit_answer(argv: Sequence[str], prog: str) -> Answer:
    """Rehearse the command, and say where it fits; raises `CourseError` with what is wrong."""
    args = _parser(prog).parse_args(argv)
    if args.command[:1] == ["--"]:
        args.command.pop(0)
    script = command.script(args.command)
    with stage.stage(script) as open_stage:
        found = answer.answer(open_stage, args.gpus, args.memory)
    if args.json:
        report.write(args.json, "fit", args.command, [], **found.plain())
    return found


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=prog,
        usage=f"{prog} [--gpus 1,2,4,8] [--memory 24,80] [--json FILE] -- torchrun ... SCRIPT.py",
        description="Rehearse your own training, unchanged, for some steps on tensors without "
        "memory, and say whether it fits on so many GPUs of such a size, and what would make it "
        "fit. No GPU is needed.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--gpus", type=_counts, default=_counts(GPUS), metavar="N,N", help="how many, each a rank")
    add("--memory", type=_sizes, default=_sizes(MEMORY), metavar="M,M", help="of each GPU, in GiB")
    add("--json", type=Path, metavar="FILE", help="write the answer as JSON too")
    add("command", nargs=argparse.REMAINDER, help="what starts your training")
    return parser


def _counts(text: str) -> list[int]:
    found = [int(each) for each in text.split(",") if each.isdecimal()]
    if len(found) != len(text.split(",")) or min(found) < 1:
        raise argparse.ArgumentTypeError(f"whole numbers with commas between, not {text}")
    return sorted(set(found))


def _sizes(text: str) -> list[int]:
    try:
        found = [float(each) for each in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) <= 0:
        raise argparse.ArgumentTypeError(f"sizes in GiB with commas between, not {text}")
    return sorted({int(each * words.GIB) for each in found})
