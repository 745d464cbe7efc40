"""The four tools as terminal commands."""

import argparse
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from course.core import CourseError
from course.diagnostics import deep, terminal_run
from course.diagnostics.answers import options, output
from course.diagnostics.answers.right_answer import RightAnswer, right_answer
from course.diagnostics.answers.why_answer import WhyAnswer, why_answer
from course.diagnostics.terminal_run import TerminalRun, exit_code
from course.diagnostics.watch import report_files
from course.diagnostics.watch.command import say
from course.diagnostics.watch.process import NUMERICS, PROFILING

Answer = WhyAnswer | RightAnswer
FAR = 1000  # backward passes, after whose output an answer has scrolled far up


def run(argv: Sequence[str]) -> int:
    """Run the command `run`, and return its exit code."""
    args = options.run(argv)
    with terminal_run.open_folder(args) as (folder, shared_folder):
        watched = TerminalRun(args, folder, shared_folder)
        ending = watched.finish()
    if args.json and watched.judges:
        output.write(args.json, "run", args.command, ending.findings, **ending.plain())
    return exit_code(ending)


def why(argv: Sequence[str]) -> int:
    """Run the command `why`, and return its exit code.

    The answer is printed as soon as all ranks have reported, and once more at the end of a long
    run.
    """
    return _ask(Question("why", PROFILING, why_answer), options.why(argv))


def right(argv: Sequence[str]) -> int:
    """Run the command `right`, and return its exit code.

    The answer at the end also covers what the script does after the watched steps, such as a second
    epoch or a file that it writes.
    """
    args = options.right(argv)
    if args.deep:
        return deep.right(args)
    return _ask(Question("right", NUMERICS, right_answer, keeps_recording=True), args)


@dataclass(frozen=True)
class Question:
    """A question about the steps of a run: what to record (`looks_at`), and how to answer.

    `answer` judges the ranks that have reported to a folder. `keeps_recording` says whether ranks
    still record something after the watched steps.
    """

    tool: str
    looks_at: str
    answer: Callable[..., Answer | None]
    keeps_recording: bool = False


def _ask(question: Question, args: argparse.Namespace) -> int:
    with terminal_run.open_folder(args) as (folder, shared_folder):
        early = EarlyAnswer(question, args)
        watched = TerminalRun(
            args, folder, shared_folder, args.steps, early.is_enough, question.looks_at
        )
        ending = watched.finish()
        answer = None
        if watched.judges:
            answer = early.answer
            if answer is None or question.keeps_recording:
                last = output.last_answer(question.tool, question.answer, folder, ending)
                answer = last or answer
        if (
            answer
            and not ending.findings
            and early.is_new(answer, watched.passes)
            and (not args.quiet or _has_faults(answer))
        ):
            # After a failure or a hang, its finding is the last word.
            say(f"\n{early.lead}{answer}")
    if args.json and watched.judges:
        findings = [*ending.findings, *(answer.findings if answer else [])]
        fields = ending.plain() | _json_fields(question, answer.plain() if answer else {})
        output.write(args.json, question.tool, args.command, findings, **fields)
    return exit_code(ending, answer is not None and _has_faults(answer))


def _has_faults(answer: Answer) -> bool:
    """Whether an answer has faults; notes, which change no exit code, do not count."""
    return any(not finding.note for finding in answer.findings)


def _json_fields(question: Question, plain: dict[str, object]) -> dict[str, object]:
    """The fields that an answer adds to the JSON, besides its findings."""
    if question.looks_at == PROFILING:
        return {"why": plain or None}
    return plain or {"ranks": 0, "steps": 0, "rows": []}


class EarlyAnswer:
    """The answer given while the run goes on; it is printed, or with `--stop` ends the run."""

    def __init__(self, question: Question, args: argparse.Namespace) -> None:
        self._question, self._stop, self._quiet = question, args.stop, args.quiet
        self._has_judged = False
        self._printed, self._printed_at = "", 0  # the answer, and the backward passes before it
        self.answer: Answer | None = None

    def is_enough(self, watched: TerminalRun) -> bool:
        """Answer once all ranks have reported; return whether to end the run."""
        if not watched.has_all_ranks:
            return False
        everywhere = watched.shared_folder is not None  # ranks of other machines must report, too
        if not self._has_judged and report_files.all_have_reported(watched.folder, everywhere):
            self._has_judged = True
            with suppress(CourseError):  # too few reports: the answer at the end will say so
                self.answer = self._question.answer(watched.folder)
            if self.answer and self._may_print(self.answer):
                self._printed, self._printed_at = str(self.answer), watched.passes
                say(f"\n{self._printed}\n")
        return self._has_judged and self._stop and report_files.are_still_running(watched.folder)

    def is_new(self, answer: Answer, passes: int) -> bool:
        """Whether to print an answer: it is new, or the printed one has scrolled far up.

        The script's own output comes in between; after `FAR` backward passes, it is taken to be
        much.
        """
        return self._printed != str(answer) or passes - self._printed_at >= FAR

    @property
    def lead(self) -> str:
        """The first line of the answer at the end, if it replaces one that was printed before."""
        return "At the end of the run:\n" if self._printed else ""

    def _may_print(self, answer: Answer) -> bool:
        return not self._stop and (not self._quiet or _has_faults(answer))


def fit(argv: Sequence[str]) -> int:
    """Run the command `fit`, and return its exit code."""
    args = options.fit(argv)
    from course.diagnostics.fit.answer import fit_answer  # slow to import: needs torch

    answer = fit_answer(args)
    fits = all(run.fits for run in answer.runs)
    if not (fits and args.quiet):
        print(answer)
    return 0 if fits else terminal_run.FOUND
