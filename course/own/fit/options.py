"""The options of `fit`, in a terminal and in a notebook, and the answer to them."""

import argparse

from course.core import words
from course.own.fit import answer, command, stage
from course.own.fit.answer import Answer
from course.own.say import options, report

GPUS, MEMORY = "1,2,4,8", "24,80"


def fit_answer(args: argparse.Namespace) -> Answer:
    """Rehearse the command, and return where it fits; raises `CourseError` if it cannot be."""
    with stage.stage(command.script(args.command)) as open_stage:
        result = answer.answer(open_stage, args.gpus, args.memory)
    result.alone = args.step_ms and args.step_ms / 1000
    if args.json:
        report.write(args.json, "fit", args.command, [], **result.plain())
    return result


def fit_parser(prog: str) -> argparse.ArgumentParser:
    """The options of `fit`, without those that every tool has."""
    parser = options.Parser(
        prog=prog,
        usage=f"{prog} [--gpus {GPUS}] [--memory {MEMORY}] [--step-ms MS] [--json FILE] "
        "-- torchrun ... SCRIPT.py",
        description="Rehearse your own training, unchanged, for some steps on tensors without "
        "memory, and say whether it fits on so many GPUs of such a size, and what would make it "
        "fit. No GPU is needed.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--gpus", type=_counts, default=GPUS, metavar="N,N", help="how many, each a rank")
    add("--memory", type=_sizes, default=MEMORY, metavar="M,M", help="of each GPU, in GiB")
    add("--step-ms", type=_milliseconds, metavar="MS",
        help="what a step takes on one GPU, for an estimate of one on several")  # fmt: skip
    return parser


def _counts(text: str) -> list[int]:
    counts = [int(each) for each in text.split(",") if each.isdecimal()]
    if len(counts) != len(text.split(",")) or min(counts) < 1:
        raise argparse.ArgumentTypeError(f"whole numbers with commas between, not {text}")
    return sorted(set(counts))


def _sizes(text: str) -> list[int]:
    sizes = [_positive(each) for each in text.split(",")]
    if None in sizes:
        raise argparse.ArgumentTypeError(f"sizes in GiB with commas between, not {text}")
    return sorted({int(each * words.GIB) for each in sizes})


def _milliseconds(text: str) -> float:
    if (milliseconds := _positive(text)) is None:
        raise argparse.ArgumentTypeError(f"milliseconds, not {text}")
    return milliseconds


def _positive(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None
