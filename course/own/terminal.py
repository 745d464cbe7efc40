"""The tools as commands in a terminal, and the options that all of them have."""

import argparse
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from course import own
from course.core import CourseError
from course.own import deep, session
from course.own.hang import causes
from course.own.hang.ending import ITSELF, Ending
from course.own.hang.thresholds import PATIENCE_S
from course.own.say import answer as answers
from course.own.say import options, report
from course.own.say.answer import Answer
from course.own.say.comparison import Comparison, comparison
from course.own.session import Session, exit_code
from course.own.watch import timeline
from course.own.watch.command import say
from course.own.watch.process import NUMBERS, TIME

CODES = """exit codes:
  0  nothing was found
  2  the options cannot be understood
  3  something was found
  otherwise the script's own, if it failed; 130 after Ctrl-C"""


def run(argv: Sequence[str]) -> int:
    """Run the command `run`, and return its exit code."""
    args = _run_options(argv)
    with session.folder(args) as (folder, run):
        one = Session(args, folder, run)
        ending = one.finish()
    if args.json and one.judges:
        report.write(args.json, "run", args.command, ending.findings, **ending.plain())
    return exit_code(ending)


def why(argv: Sequence[str]) -> int:
    """Run the command `why`, and return its exit code.

    The answer comes as soon as all ranks have seen enough, and again at the end if the run goes on.
    """
    args = options.read(_with_common(options.why("python -m course why", f"\n\n{CODES}")), argv)
    return _ask(Question("why", TIME, answers.answer), args)


def right(argv: Sequence[str]) -> int:
    """Run the command `right`, and return its exit code.

    The answer at the end also counts what a script does after the watched steps, such as a second
    epoch or a file.
    """
    parser = _with_common(options.right("python -m course right", f"\n\n{CODES}"))
    args = options.read(parser, argv)
    if args.deep:
        return deep.right(args)
    return _ask(Question("right", NUMBERS, comparison, goes_on=True), args)


@dataclass(frozen=True)
class Question:
    """A question about steps: what to watch (`looks_at`), and the function that answers it.

    `goes_on` says whether ranks still record something after the steps that are watched.
    """

    tool: str
    looks_at: str
    answer: Callable[..., Answer | Comparison | None]
    goes_on: bool = False


def _ask(question: Question, args: argparse.Namespace) -> int:
    with session.folder(args) as (folder, run):
        early = _Early(question, folder, bool(run), args, lambda: one.passes)
        one = Session(
            args,
            folder,
            run,
            args.steps,
            lambda: one.is_whole and early.is_over(),
            question.looks_at,
        )
        ending = one.finish()
        answer = None
        if one.judges:
            answer = None if question.goes_on else early.answer
            answer = answer or _last_answer(question, folder, ending) or early.answer
        if (
            answer
            and not ending.findings
            and early.is_new(answer)
            and (not args.quiet or _has_faults(answer))
        ):
            say(f"\n{answer}")  # unless a failure or a hang has had the last word
    if args.json and one.judges:
        findings = [*ending.findings, *(answer.findings if answer else [])]
        more = ending.plain() | _more(question, answer.plain() if answer else {})
        report.write(args.json, question.tool, args.command, findings, **more)
    return exit_code(ending, answer is not None and _has_faults(answer))


def _has_faults(answer: Answer | Comparison) -> bool:
    """Return whether an answer has faults; notes, which change no exit code, do not count."""
    return any(not finding.note for finding in answer.findings)


def _more(question: Question, plain: dict) -> dict:
    """The part of an answer that the JSON has in addition to its findings."""
    if question.looks_at == TIME:
        return {"why": plain or None}
    return plain or {"ranks": 0, "steps": 0, "rows": []}


class _Early:
    """The answer while the run goes on, printed once; with `--stop`, it ends the run.

    It waits for all ranks of this machine, or `everywhere`. `passes` is how many backward passes
    a rank has made so far.
    """

    def __init__(
        self,
        question: Question,
        folder: Path,
        everywhere: bool,
        args: argparse.Namespace,
        passes: Callable[[], int],
    ) -> None:
        self._question, self._folder, self._everywhere = question, folder, everywhere
        self._stop, self._quiet, self._passes = args.stop, args.quiet, passes
        self._judged = False
        self._text, self._at = "", 0  # the answer that was printed, and after how many passes
        self.answer: Answer | Comparison | None = None

    def is_new(self, answer: Answer | Comparison) -> bool:
        """Whether an answer differs from the printed one, or that may be far above by now.

        It is near if the run ended before it had gone on for as long again.
        """
        far = not self._question.goes_on and self._passes() >= 2 * self._at
        return far or self._text != str(answer)

    def _may_print(self, answer: Answer | Comparison) -> bool:
        return not self._stop and (not self._quiet or _has_faults(answer))

    def is_over(self) -> bool:
        """Answer if the ranks have reported; whether the run is to be ended."""
        if not self._judged and timeline.all_have_reported(self._folder, self._everywhere):
            self._judged = True
            with suppress(CourseError):  # the reports are too few, as the end will say
                self.answer = self._question.answer(self._folder)
            if self.answer and self._may_print(self.answer):
                self._text, self._at = str(self.answer), self._passes()
                say(f"\n{self._text}\n")
        return self._judged and self._stop and timeline.go_on(self._folder)


def _last_answer(question: Question, folder: Path, ending: Ending) -> Answer | Comparison | None:
    """The answer at the end; raises `CourseError` if the run went well and cannot be judged."""
    try:
        answer = question.answer(folder)
    except CourseError:
        if ending.code or ending.findings:
            return None
        raise
    if answer is None and ending.ended == ITSELF and not ending.code:
        raise CourseError(
            f"No rank reported anything: `{question.tool}` watches Python scripts that use torch. "
            "Does the command start Python with -I, -E or -S?"
        )
    return answer


def fit(argv: Sequence[str]) -> int:
    """The command `fit`, which alone imports torch; returns its exit code."""
    args = options.read(_with_quiet(own.fit_parser("python -m course fit")), argv)
    answer = own.fit_answer(args)
    fits = all(run.fits for run in answer.runs)
    if not (fits and args.quiet):
        print(answer)
    return 0 if fits else session.FOUND


def _run_options(argv: Sequence[str]) -> argparse.Namespace:
    known = {name: cause.seen for name, cause in causes.KNOWN.items()}
    parser = argparse.ArgumentParser(
        prog="python -m course run",
        usage="%(prog)s [options] -- torchrun ... train.py ...",
        description="Run your own training as the terminal would. It is ended when its ranks "
        "stand still; then, and when it fails, this says which rank, which line, and why.",
        epilog=f"{options.listed('what it can name', known)}\n\n{CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return options.read(_with_common(parser), argv)


def _with_common(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options that all tools have in a terminal."""
    add = parser.add_argument
    add(
        "--patience",
        type=_seconds,
        default=PATIENCE_S,
        metavar="S",
        help="end the run when no rank has moved for this many seconds (default 300)",
    )
    add("--limit", type=_seconds, metavar="S", help="end the run after this many seconds anyway")
    add("--keep", type=Path, metavar="FOLDER", help="keep what the ranks wrote there")
    add(
        "--rank",
        action="store_true",
        help="the command is one rank, as srun, mpirun or torchrun starts each of them",
    )
    add("--folder", type=Path, metavar="FOLDER", help="a folder that all machines of the run see")
    return _with_quiet(parser)


def _with_quiet(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--quiet", action="store_true", help="say nothing if nothing is wrong")
    return parser


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"a number of seconds, not {text}")
    return seconds
