"""The options of the four tools, as terminal commands and as a notebook's magics."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from course.core import CourseError, words
from course.diagnostics.finding import CauseInfo
from course.diagnostics.right import causes as right_causes
from course.diagnostics.run import causes as run_causes
from course.diagnostics.run.thresholds import PATIENCE_S
from course.diagnostics.why import detectors as why_causes
from course.diagnostics.why.thresholds import MIN_STEPS

GPUS, MEMORY = "1,2,4,8", "24,80"
EXIT_CODES = """exit codes:
  0  nothing was found
  2  the options cannot be understood
  3  something was found
  otherwise the script's own, if it failed; 130 after Ctrl-C"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are a `CourseError` of one sentence, in a notebook too."""

    def error(self, message: str) -> NoReturn:
        usage = str(self.usage) % {"prog": self.prog}
        raise CourseError(f"{self.prog}: {message}. Usage: {usage}")


def run(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the options of `run`; raises `CourseError` for bad ones, as do the functions below."""
    parser = _parser(
        "run",
        "[options] -- torchrun ... train.py ...",
        "Run your own training as the terminal would. It is ended when it hangs; "
        "then, and when it fails, this says which rank, which line, and why.",
        _cause_list("what it can name", run_causes.ALL),
    )
    _add_run_options(parser)
    return _parse(parser, argv)


def why(argv: Sequence[str], magic: bool = False) -> argparse.Namespace:
    """Parse the options of `why`, or of the magic `%why`."""
    parser = _parser(
        "why",
        "[--steps N] [--stop] [--json FILE] -- torchrun ... SCRIPT.py ...",
        "Run your own training on several ranks, unchanged, and say where the time "
        "of a step goes: what to cure first and how, and what else was seen.",
        f"{_cause_list('causes', why_causes.ALL)}\n\n"
        "On GPUs, torch.profiler records a few steps more. This was tried with two\nranks on one "
        "GPU, not yet on several; `copies` is found on GPUs alone.",
        magic,
    )
    _add_steps(parser, "steps to watch after the warm-up")
    if not magic:
        _add_run_options(parser)
    return _parse(parser, argv)


def right(argv: Sequence[str], magic: bool = False) -> argparse.Namespace:
    """Parse the options of `right`, or of the magic `%right`."""
    parser = _parser(
        "right",
        "[--steps N] [--stop] [--deep] [--json FILE] -- torchrun ... SCRIPT.py ...",
        "Run your own training on several ranks, unchanged, and compare what they compute: "
        "weights, gradients, samples, settings. Say what is wrong and how to cure it, what is "
        "equal, and what was not seen.",
        _cause_list("what it can name", right_causes.ALL),
        magic,
    )
    _add_steps(parser, "steps to watch from the start")
    parser.add_argument(
        "--deep",
        action="store_true",
        help="compare with one process instead, in a terminal: the script runs twice, for two "
        "steps without dropout and with the same seed, on its ranks and then alone with the batches"
        " of all, stacked. No weights are copied and nothing is padded: if the two runs begin with "
        "different weights, or batches have different shapes, it says so and compares nothing. "
        "Each run really deletes and writes the script's files, so the second replaces the "
        "first's, and what earlier trainings left under the same names is gone",
    )
    if not magic:
        _add_run_options(parser)
    return _parse(parser, argv)


def fit(argv: Sequence[str], magic: bool = False) -> argparse.Namespace:
    """Parse the options of `fit`, or of the magic `%fit`."""
    parser = _parser(
        "fit",
        f"[--gpus {GPUS}] [--memory {MEMORY}] [--step-ms MS] [--json FILE] "
        "-- torchrun ... SCRIPT.py",
        "Rehearse your own training, unchanged, for some steps on tensors without "
        "memory, and say on how many GPUs of which size it fits, and what would make it fit. "
        "No GPU is needed. The script runs several times and really deletes and writes its files, "
        "with made-up numbers: only torch.save does nothing.",
        magic=magic,
    )
    add = parser.add_argument
    add("--gpus", type=_counts, default=GPUS, metavar="N,N", help="how many, each a rank")
    add("--memory", type=_sizes, default=MEMORY, metavar="M,M", help="of each GPU, in GiB")
    add("--step-ms", type=_milliseconds, metavar="MS",
        help="what a step takes on one GPU, for an estimate of one on several")  # fmt: skip
    if not magic:
        _add_quiet(parser)
    return _parse(parser, argv)


def _parser(
    tool: str, usage: str, description: str, epilog: str = "", magic: bool = False
) -> Parser:
    return Parser(
        prog=f"%{tool}" if magic else f"python -m course {tool}",
        usage=f"%(prog)s {usage}",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _cause_list(title: str, causes: Sequence[CauseInfo]) -> str:
    """A title, and below it the causes in two columns: their names and summaries."""
    width = max(len(cause.name) for cause in causes) + 2
    return "\n".join([f"{title}:", *[f"  {cause.name:{width}}{cause.summary}" for cause in causes]])


def _parse(parser: Parser, argv: Sequence[str]) -> argparse.Namespace:
    """Parse the options and drop the command's ``--``; raises `CourseError` without a command."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the answer as JSON too")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what starts your training")
    options = parser.parse_args(argv)
    if options.command[:1] == ["--"]:
        options.command.pop(0)
    if not options.command:
        raise CourseError(
            f"No command was given; for example: {parser.prog} -- torchrun --standalone "
            "--nproc-per-node 2 train.py."
        )
    return options


def _add_steps(parser: Parser, steps: str) -> None:
    """Add the options --steps, with its help in `steps`, and --stop."""
    parser.add_argument("--steps", type=_steps, default=20, metavar="N", help=steps)
    parser.add_argument(
        "--stop", action="store_true", help="end the training when it has been watched"
    )


def _add_run_options(parser: Parser) -> None:
    """Add the options and exit codes of the tools that run a command in a terminal."""
    parser.epilog = f"{parser.epilog}\n\n{EXIT_CODES}"
    add = parser.add_argument
    add(
        "--patience",
        type=_seconds,
        default=PATIENCE_S,
        metavar="S",
        help="end the run when no rank has moved for this many seconds (default 300)",
    )
    add("--limit", type=_seconds, metavar="S", help="end the run after this many seconds anyway")
    add(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="keep what the ranks wrote there; with --rank or --folder, in a new folder within",
    )
    add(
        "--rank",
        action="store_true",
        help="the command is one rank, as srun, mpirun or torchrun starts each of them",
    )
    add("--folder", type=Path, metavar="FOLDER", help="a folder that all machines of the run see")
    _add_quiet(parser)


def _add_quiet(parser: Parser) -> None:
    parser.add_argument("--quiet", action="store_true", help="say nothing if nothing is wrong")


def _steps(text: str) -> int:
    if not text.isdecimal() or int(text) < MIN_STEPS:
        raise argparse.ArgumentTypeError(f"at least {MIN_STEPS} steps, not {text}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"a number of seconds, not {text}")
    return seconds


def _milliseconds(text: str) -> float:
    if (milliseconds := _positive(text)) is None:
        raise argparse.ArgumentTypeError(f"milliseconds, not {text}")
    return milliseconds


def _counts(text: str) -> list[int]:
    counts = [int(number) for number in text.split(",") if number.isdecimal()]
    if len(counts) != len(text.split(",")) or min(counts) < 1:
        raise argparse.ArgumentTypeError(f"whole numbers with commas between, not {text}")
    return sorted(set(counts))


def _sizes(text: str) -> list[int]:
    sizes = [size for number in text.split(",") if (size := _positive(number)) is not None]
    if len(sizes) != len(text.split(",")):
        raise argparse.ArgumentTypeError(f"sizes in GiB with commas between, not {text}")
    return sorted({int(size * words.GIB) for size in sizes})


def _positive(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None
