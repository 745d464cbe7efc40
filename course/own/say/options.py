"""The options of `why` and `right`, in a terminal and in a notebook."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from course.core import CourseError
from course.own.right import verdict
from course.own.slow.causes import KNOWN
from course.own.slow.thresholds import FEWEST


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, in a notebook too."""

    def error(self, message: str) -> NoReturn:
        raise CourseError(f"{self.prog}: {message}. Usage: {self.usage}")


def read(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """Return the options, and the command without its ``--``.

    Raises `CourseError` if there is no command, or if `Parser` cannot understand the options.
    """
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


def why(prog: str, epilog: str = "") -> argparse.ArgumentParser:
    """The options of `why`, without those that every tool has."""
    return _parser(
        prog,
        "Run your own training on several ranks, unchanged, and say where the time "
        "of a step goes: what to cure first and how, and what else was seen.",
        f"{listed('causes', {name: known.about for name, known in KNOWN.items()})}\n\n"
        "On GPUs, torch.profiler records a few steps more. This was tried with two\nranks on one "
        f"GPU, not yet on several; `copies` is found on GPUs alone.{epilog}",
        "steps to watch after the warm-up",
    )


def right(prog: str, epilog: str = "") -> argparse.ArgumentParser:
    """The options of `right`, without those that every tool has."""
    made = _parser(
        prog,
        "Run your own training on several ranks, unchanged, and compare what they compute: "
        "weights, gradients, samples, settings. Say what is wrong and how to cure it, what is "
        "equal, and what was not seen.",
        f"{listed('what it can name', verdict.KNOWN)}{epilog}",
        "steps to watch from the start",
    )
    made.usage = made.usage.replace("[--stop]", "[--stop] [--deep]")
    made.add_argument(
        "--deep",
        action="store_true",
        help="compare with one process instead, in a terminal: the script runs twice, for two "
        "steps without dropout and with the same seed, on its ranks and then alone with the batches"
        " of all, stacked. No weights are copied and nothing is padded: if the two runs begin with "
        "different weights, or batches have different shapes, it says so and compares nothing",
    )
    return made


def listed(title: str, known: dict[str, str]) -> str:
    """Return a title, and below it each name with its description, in two columns."""
    width = max(map(len, known)) + 2
    return "\n".join([f"{title}:", *[f"  {name:{width}}{about}" for name, about in known.items()]])


def _parser(prog: str, description: str, epilog: str, steps: str) -> argparse.ArgumentParser:
    made = Parser(
        prog=prog,
        usage=f"{prog} [--steps N] [--stop] [--json FILE] -- torchrun ... SCRIPT.py ...",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--steps", type=_steps, default=20, metavar="N", help=steps)
    made.add_argument(
        "--stop", action="store_true", help="end the training when it has been watched"
    )
    return made


def _steps(text: str) -> int:
    if not text.isdecimal() or int(text) < FEWEST:
        raise argparse.ArgumentTypeError(f"at least {FEWEST} steps, not {text}")
    return int(text)
