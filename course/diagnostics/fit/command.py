"""Find the script that torchrun, accelerate launch or python starts, and its arguments."""

import argparse
import contextlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course.core import CourseError
from course.diagnostics.fit.record import Plain
from course.launch import preflight

HOW = "Give the command as you would type it: torchrun --nproc-per-node 2 train.py."
PYTHONS = ("python", "python3")


@dataclass(frozen=True)
class Script:
    """A file or module that is run as `__main__`, with the arguments that follow it."""

    name: str
    words: list[str]
    is_module: bool = False

    def request(self, ranks: int) -> Plain:
        """The request for a rehearsal with this many ranks, as plain data."""
        return {"script": self.name, "words": self.words, "module": self.is_module, "ranks": ranks}


def script(words: Sequence[str]) -> Script:
    """The script of a command; raises `CourseError` if it names none, or a missing file."""
    first, *rest = words or [""]
    name = Path(first).name
    if name in PYTHONS or name.startswith("python3."):
        while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-"):
            rest = rest[2 if rest[0] in ("-W", "-X") else 1 :]
        name, *rest = preflight.shorten(["python", *rest])
    if name == "torchrun":
        script = _of_torchrun(rest)
    elif rest[:2] == ["-m", "torch.distributed.launch"]:
        script = _of_torchrun(rest[2:])
    elif name == "accelerate" and rest[:1] == ["launch"]:
        script = _of_accelerate(rest[1:])
    else:
        script = _of_words(rest if name == "python" else list(words))
    if not script.is_module and not os.path.isfile(script.name):
        raise CourseError(f"There is no script {script.name}. {HOW}")
    return script


def _of_words(words: list[str]) -> Script:
    if words[:1] == ["-m"] and len(words) > 1:
        return Script(words[1], words[2:], is_module=True)
    if not words or not words[0].endswith(".py"):
        raise CourseError(f"No script was named. {HOW}")
    return Script(words[0], words[1:])


def _of_torchrun(words: list[str]) -> Script:
    from torch.distributed.run import get_args_parser  # slow to import

    args = _parsed(get_args_parser(), words, "torchrun")
    return Script(args.training_script, args.training_script_args, args.module)


def _of_accelerate(words: list[str]) -> Script:
    from accelerate.commands.launch import launch_command_parser

    args = _parsed(launch_command_parser(), words, "accelerate launch")
    return Script(args.training_script, args.training_script_args, args.module)


def _parsed(parser: argparse.ArgumentParser, words: list[str], name: str) -> argparse.Namespace:
    message = io.StringIO()
    try:
        with contextlib.redirect_stderr(message), contextlib.redirect_stdout(message):
            return parser.parse_args(words)
    except SystemExit:
        last = message.getvalue().strip().splitlines() or ["no script"]
        raise CourseError(f"{name} does not understand this: {last[-1]}. {HOW}") from None
