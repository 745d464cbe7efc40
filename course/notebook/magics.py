"""The magics that launch and check: shell commands with % in place of $.

%load_ext course
%torchrun --standalone --nproc-per-node 2 src/ddp.py --epochs 2
%timeout 20 torchrun --standalone --nproc-per-node 2 src/may_hang.py
%why torchrun --standalone --nproc-per-node 2 src/ddp.py
%right torchrun --standalone --nproc-per-node 2 src/ddp.py
%fit --gpus 1,8 torchrun --standalone --nproc-per-node 2 src/ddp.py
%check my_ddp
%hint my_ddp

%%guess growth times
By what factor does the time grow?
"""

import shlex
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magics import NamespaceMagics

from course.core import CourseError, write_atomically
from course.diagnostics import (
    NUMERICS,
    RightAnswer,
    WatchedRun,
    WhyAnswer,
    fit_answer,
    options,
    output,
    right_answer,
    why_answer,
)
from course.exercises import exercise
from course.launch import Reason, Run, warm_up
from course.notebook import guess_form, progress, server, stuck, working_folder
from course.notebook.diff import Diff
from course.notebook.displays import CheckDisplay, CurvesDisplay
from course.notebook.live import Live

SHOW_OPTION = "--show"
Judgement = TypeVar("Judgement", WhyAnswer, RightAnswer)


@magics_class
class CourseMagics(Magics):
    """The magics of the labs."""

    @line_magic
    def torchrun(self, line: str) -> Run:
        """Run a script on several ranks: the torchrun of the terminal, supervised."""
        return _launch(["torchrun", *_split(line)])

    @line_magic
    def accelerate(self, line: str) -> Run:
        """Run a script through `accelerate launch`, supervised."""
        return _launch(["accelerate", *_split(line)])

    @line_magic
    def python(self, line: str) -> Run:
        """Run a script in one new process."""
        return _launch(["python", *_split(line)])

    @line_magic
    def timeout(self, line: str) -> Run:
        """Run a command with a limit in seconds, as the terminal's `timeout` does.

        A hang shows where each rank is. The time in which the machine was busy with other things
        does not count, or ranks on a busy machine would end before they hang. Raises `CourseError`
        without a number of seconds above 0, or without a command.
        """
        seconds, *words = _split(line) or [""]
        try:
            limit = float(seconds)
        except ValueError:
            limit = 0
        if not limit > 0 or not words:
            raise CourseError(
                "%timeout takes seconds and a command: "
                "%timeout 20 torchrun --nproc-per-node 2 src/NAME.py."
            )
        return _launch(words, limit)

    @line_magic
    def why(self, line: str) -> WhyAnswer | None:
        """Run any script on several ranks, and say where the time of a step goes.

        None if the script has an open TODO.
        """
        answer = _launch_and_judge("why", options.why(_split(line), magic=True), why_answer)
        if answer:
            print(answer)
        return answer

    @line_magic
    def right(self, line: str) -> RightAnswer | None:
        """Run any script on several ranks, and say whether they compute what they should.

        None if the script has an open TODO.
        """
        args = options.right(_split(line), magic=True)
        if args.deep:
            raise CourseError(
                "--deep starts the script a second time, as the terminal has started it. In a "
                f"cell, type: !python -m course right --deep -- {shlex.join(args.command)}"
            )
        return _launch_and_judge("right", args, right_answer, looks_at=NUMERICS)

    @line_magic
    def fit(self, line: str):
        """Say on how many GPUs of which size any script fits; nothing big is run."""
        answer = fit_answer(options.fit(_split(line), magic=True))
        print(answer)
        return answer

    @line_magic
    def check(self, line: str):
        """Check one exercise on real ranks: what passes, what does not, and a hint."""
        from course.checks import check

        attempt = _attempt("check", line)
        script, start = attempt.written(), time.monotonic()
        report = check(attempt.name, watch=CheckDisplay())
        seconds = time.monotonic() - start
        if report.begun and not report.ok:
            stuck.print_last_pass(attempt)
        progress.record(report, script, attempt.src, seconds)
        later = exercise(attempt.name).later
        return replace(report, passed_elsewhere=progress.passed(later, attempt.src))

    @line_magic
    def hint(self, line: str) -> stuck.Prose:
        """Show a fuller hint: `%hint ring` for the first open TODO, `%hint ring 4` for TODO 4."""
        name, _, number = line.strip().partition(" ")
        attempt = _attempt("hint", name)
        if number and not number.strip().isdecimal():
            raise CourseError(f"%hint takes an exercise and the number of a TODO, not {number}.")
        return attempt.hint(int(number) if number else None)

    @line_magic
    def solution(self, line: str) -> stuck.Prose:
        """Warn, and with `--show` show the solution of one exercise."""
        names = [word for word in line.split() if word != SHOW_OPTION]
        attempt = _attempt("solution", " ".join(names))
        if SHOW_OPTION in line.split():
            return attempt.solution()
        name = attempt.name
        return stuck.Prose(
            f"The solution of `{name}` ends the exercise: you cannot find it yourself afterwards. "
            f"`%hint {name}` says more than the TODO and leaves the code to you. "
            f"If you want to see the solution now: `%solution {name} {SHOW_OPTION}`"
        )

    @line_magic
    def reset(self, line: str) -> None:
        """Put the script of one exercise back to its blank form; the learner's version is kept.

        Without a name, or with options, it is IPython's own `%reset`, which deletes variables.
        """
        if not line.strip() or line.strip().startswith("-"):
            return NamespaceMagics(self.shell).reset(line)
        attempt = _attempt("reset", line)
        backup = attempt.reset()
        print(f"{attempt.path} is as it was handed out, with its TODOs open.")
        if backup:
            print(f"Your version is kept: {backup}")
        blank = attempt.exercise.script(solved=False).removesuffix("\n")
        self.shell.set_next_input(f"%%writefile src/{attempt.name}.py\n{blank}", replace=False)
        print("Below is its cell in the blank form. The cell above it still holds your version.")

    @line_magic
    def changes(self, line: str) -> Diff | None:
        """Show what changed in the script of one exercise since it passed last."""
        attempt = _attempt("changes", line)
        changes = attempt.changes()
        if changes.lines:
            return changes
        print(f"{attempt.path} is as it was when it passed.")

    @cell_magic
    def guess(self, line: str, cell: str) -> None:
        """Ask for a guess before a run; `it_was` shows it next to what was measured."""
        guess_form.ask(line, cell)

    @cell_magic
    def writefile(self, line: str, cell: str) -> None:
        """Write the cell to a file, atomically; the folder is created if it is missing."""
        _write(Path(line.strip().strip("\"'")), cell)


def _attempt(magic: str, line: str) -> stuck.Attempt:
    """The learner's attempt at the exercise in `line`; raises `CourseError` for another line."""
    words = line.split()
    if len(words) != 1:
        raise CourseError(f"%{magic} takes the name of one exercise: %{magic} start_here.")
    return stuck.Attempt(exercise(words[0]))


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise CourseError(f"The command cannot be read: {str(error).lower()} in: {line}") from None


def _launch(words: list[str], limit: float | None = None) -> Run:
    """Launch a command and show its run.

    Raises `CourseError` if the run fails, unless it met an open TODO or its time `limit`.
    """
    with WatchedRun() as session:
        run = session.run(words, Live(display=CurvesDisplay(), explain=session.ending), limit)
    if run.ok or run.unfinished or (limit and run.reason == Reason.LIMIT):
        return run
    raise CourseError(f"{run.command_line} failed; the message above says why.")


def _launch_and_judge(
    tool: str, args: Namespace, judge: Callable[[Path], Judgement | None], **watching: str
) -> Judgement | None:
    """Launch a command, watch its ranks, and judge the run; None if it met an open TODO."""
    with WatchedRun(args.steps, args.stop, **watching) as session:
        run = session.run(args.command, Live(display=CurvesDisplay(), explain=session.ending))
        ending = session.ending(run)
        answer = output.last_answer(tool, judge, session.folder, ending)
    if answer and args.json:
        plain = answer.plain()
        more = ending.plain() | ({"why": plain} if tool == "why" else plain)
        output.write(args.json, tool, args.command, answer.findings, **more)
    if answer or run.unfinished:
        return answer
    raise CourseError(f"{run.command_line} failed; the message above says why.")


def _write(path: Path, text: str) -> None:
    existed = path.exists()
    try:
        write_atomically(path, text)
    except OSError as error:
        raise CourseError(
            f"{path} cannot be written: {error.strerror}. Its old content, if any, is unharmed."
        ) from None
    print(f"{'Overwriting' if existed else 'Writing'} {path}")


def load(shell: InteractiveShell) -> None:
    """Do the work of `%load_ext course`: magics, working folder, a check of the server, warm-up."""
    shell.register_magics(CourseMagics)
    working_folder.enter(shell.user_ns)
    server.inspect(shell)
    warm_up()
