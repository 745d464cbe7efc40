"""IPython's face of launching and checking: shell commands with % for $.

%load_ext course
%torchrun --standalone --nproc-per-node 2 src/ddp.py --epochs 2
%timeout 20 torchrun --standalone --nproc-per-node 2 src/may_hang.py
%check my_ddp
"""

import shlex
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from course.core import CourseError, write_whole
from course.launch import KINDS, LIMIT_S, Reason, Run, launch, warm_up
from course.notebook.curves_display import CurvesDisplay
from course.notebook.live import Live


@magics_class
class CourseMagics(Magics):
    """The magics of the labs."""

    @line_magic
    def torchrun(self, line: str) -> Run:
        """Run a script on several ranks: the torchrun of the terminal, supervised."""
        return _show(["torchrun", *_words(line)])

    @line_magic
    def accelerate(self, line: str) -> Run:
        """Run a script through `accelerate launch`, supervised."""
        return _show(["accelerate", *_words(line)])

    @line_magic
    def python(self, line: str) -> Run:
        """Run a script in one new process."""
        return _show(["python", *_words(line)])

    @line_magic
    def timeout(self, line: str) -> Run:
        """Run a command with a limit in seconds, as the terminal's `timeout` does.

        A hang shows where each rank is.
        """
        seconds, *words = _words(line) or [""]
        try:
            limit = float(seconds)
        except ValueError:
            limit = 0
        if not limit > 0 or words[:1] not in [[kind] for kind in KINDS]:
            raise CourseError(
                "%timeout takes seconds and a command: "
                "%timeout 20 torchrun --nproc-per-node 2 src/NAME.py."
            )
        return _show(words, limit, may_hang=True)

    @line_magic
    def check(self, line: str):
        """Check one exercise on real ranks: what holds, what does not, and a hint."""
        from course.checks import check

        return check(line.strip())

    @cell_magic
    def writefile(self, line: str, cell: str) -> None:
        """Write the cell to a file, whole or not at all; the folder is made if need be."""
        _write(Path(line.strip().strip("\"'")), cell)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise CourseError(f"The command cannot be read: {str(error).lower()} in: {line}") from None


def _show(words: list[str], limit: float = LIMIT_S, may_hang: bool = False) -> Run:
    """Launch and show; a failing run of a finished script raises, an open TODO does not."""
    run = launch(words, watch=Live(limit, CurvesDisplay()), limit=limit)
    if run.ok or run.unfinished or (may_hang and run.reason == Reason.LIMIT):
        return run
    raise CourseError(f"{run.command} failed; the message above says why.")


def _write(path: Path, text: str) -> None:
    existed = path.exists()
    try:
        write_whole(path, text)
    except OSError as error:
        raise CourseError(
            f"{path} cannot be written: {error.strerror}. Its old content, if any, is unharmed."
        ) from None
    print(f"{'Overwriting' if existed else 'Writing'} {path}")


def load(shell: InteractiveShell) -> None:
    """What `%load_ext course` does: define the magics, and start the warm server."""
    shell.register_magics(CourseMagics)
    warm_up()
