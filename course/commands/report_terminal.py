"""Run a command as in a terminal, within a time limit, and collect its output."""

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from course.launch import kill_tree

LAST_LINES = 40  # lines shown of a failed command
WARNINGS = (  # of Python, of glog (torch's C++ code and its launcher), of NCCL
    re.compile(r"\b(\w*Warning: .+)"),
    re.compile(r"^(?:\[rank\d+\]:)?\[?W\d{4} [^\]]*\] *(.*[^\W_].*)"),
    re.compile(r"\b(NCCL WARN .+)"),
)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class CommandResult:
    """A command that has ended: its exit code (None: at the time limit), seconds, and output."""

    code: int | None
    seconds: float
    lines: list[str]

    @property
    def last_lines(self) -> list[str]:
        """The last lines of the output."""
        return self.lines[-LAST_LINES:]

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        return "at the time limit" if self.code is None else f"with exit code {self.code}"

    @property
    def warnings(self) -> list[str]:
        """The warnings, each once, even if several ranks gave it."""
        matches = (pattern.search(line) for line in self.lines for pattern in WARNINGS)
        texts = (match[1] for match in matches if match)
        return list(dict.fromkeys(texts))


def path() -> str:
    """The search path for programs, beginning with the folder of this Python."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def run(command: list[str], folder: Path, limit: float) -> CommandResult:
    """Run a command in a folder, for at most `limit` seconds; an interrupt ends it, too.

    Raises `OSError` if the program cannot be started.
    """
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:  # not a pipe, which a surviving child would hold open
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | {"PATH": path()},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # ^C reaches only the report, which then ends the command
        )
        top = psutil.Process(process.pid)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            kill_tree(top)
            process.wait()
        output.seek(0)
        text = COLOURS.sub("", output.read().decode(errors="replace"))
    return CommandResult(code, time.monotonic() - start, text.splitlines())
