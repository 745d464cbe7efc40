"""What the tools are in a terminal: their common options, the watched command, the last word."""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from course.core import CourseError
from course.own.hang import causes, standing, verdict
from course.own.hang.verdict import INTERRUPTED, ITSELF, LIMIT, STOOD, STOPPED, Verdict
from course.own.say import answer as answers
from course.own.say import options, report
from course.own.say.answer import Answer
from course.own.watch.command import Command, environment, say
from course.own.watch.patience import Patience

FOUND = 3  # the exit code where something was found
CODES = """exit codes:
  0  nothing was found
  2  the options cannot be understood
  3  something was found
  otherwise the script's own, if it failed; 130 after Ctrl-C"""


def run(argv: Sequence[str]) -> int:
    """The command `run`; returns its exit code."""
    args = _run_options(argv)
    with _folder(args.keep) as folder:
        found = watched(args, folder)
    if args.json:
        report.write(args.json, "run", args.command, found.findings, **found.plain())
    return exit_code(found)


def why(argv: Sequence[str]) -> int:
    """The command `why`; returns its exit code.

    The answer comes as soon as all ranks have seen enough, and again at the end of a long run.
    """
    args = read(add_common(options.parser("python -m course why", f"\n\n{CODES}")), argv)
    with _folder(args.keep) as folder:
        early = _Early(folder, args.stop)
        found = watched(args, folder, args.steps, early.look)
        answer = early.answer or _last_answer(folder, found)
        if answer and not found.findings:
            say(f"\n{answer}")  # after a failure or a hang, that is the last word
    if args.json:
        told = answer.plain() if answer else {}
        report.write(args.json, "why", args.command, found.findings, **found.plain(), why=told)
    return exit_code(found)


class _Early:
    """The answer to `why` while the run goes on, said once; with `stop`, it ends the run."""

    def __init__(self, folder: Path, stop: bool) -> None:
        self._folder, self._stop = folder, stop
        self._judged = False
        self.answer: Answer | None = None

    def look(self) -> bool:
        """Whether the run is to be ended."""
        if not self._judged:
            try:
                self.answer = answers.answer(self._folder)
                self._judged = self.answer is not None
            except CourseError:  # too little was seen, which the end says
                self._judged = True
            if self.answer and not self._stop:
                say(f"\n{self.answer}\n")
        return self._judged and self._stop


def _last_answer(folder: Path, found: Verdict) -> Answer | None:
    """The answer at the end; raises `CourseError` if the run went well and cannot be judged."""
    try:
        answer = answers.answer(folder, is_end=True)
    except CourseError:
        if found.code or found.findings:
            return None
        raise
    if answer is None and found.ended == ITSELF and not found.code:
        raise CourseError(
            "No rank has told anything: `why` watches Python scripts that use torch. Does the "
            "command start Python with -I, -E or -S?"
        )
    return answer


def watched(
    args: argparse.Namespace,
    folder: Path,
    steps: int = 0,
    enough: Callable[[], bool] = lambda: False,
) -> Verdict:
    """Run the command to its end, and say how it ended; it is ended when `enough` says so."""
    patience = Patience(folder, standing.stood, args.patience, args.limit, say)
    command = Command(args.command, environment(folder, steps))
    stopped = False

    def look() -> bool:
        nonlocal stopped
        stopped = enough()
        return stopped or patience.look()

    command.run(look)
    if command.interrupted:
        ended = INTERRUPTED
    elif command.code is not None:
        ended = ITSELF
        patience.last()
    else:
        ended = STOPPED if stopped else STOOD if patience.over_patience else LIMIT
    found = verdict.of(patience.ranks, ended, command.code, patience.seconds)
    if text := report.verdict(found):
        say(f"\n{text}")
    elif not args.quiet and ended == ITSELF and not steps:
        say("\nNo rank stood still, and none failed.")
    if ended != ITSELF:
        command.end()
    return found


def exit_code(found: Verdict, faults: bool = False) -> int:
    """What the tool gives back to the shell; `faults` says whether it found more than `found`."""
    if found.ended == ITSELF and found.code:
        return found.code
    if found.faults or faults:
        return FOUND
    return 130 if found.ended == INTERRUPTED else 0


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Where the processes write: a temporary folder, unless it is to be kept."""
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    folder = Path(tempfile.mkdtemp(prefix="course-run-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_options(argv: Sequence[str]) -> argparse.Namespace:
    known = "\n".join(f"  {name:18}{known.seen}" for name, known in causes.KNOWN.items())
    parser = argparse.ArgumentParser(
        prog="python -m course run",
        usage="%(prog)s [options] -- torchrun ... train.py ...",
        description="Run your own training as the terminal would. It is ended when its ranks "
        "stand still; then, and when it fails, this says which rank, which line, and why.",
        epilog=f"what it can name:\n{known}\n\n{CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return read(add_common(parser), argv)


def add_common(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The options that all tools have, and the command."""
    add = parser.add_argument
    add(
        "--patience",
        type=_seconds,
        default=standing.PATIENCE_S,
        metavar="S",
        help="end the run when no rank has moved for so many seconds (default 300)",
    )
    add("--limit", type=_seconds, metavar="S", help="end the run after so many seconds anyway")
    add("--json", type=Path, metavar="FILE", help="write what was found as JSON too")
    add("--quiet", action="store_true", help="say nothing where nothing was found")
    add("--keep", type=Path, metavar="FOLDER", help="keep what the ranks wrote there")
    add("command", nargs=argparse.REMAINDER, help="as you would type it")
    return parser


def read(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """The options, and the command without its ``--``; raises `CourseError` if it is missing."""
    args = parser.parse_args(argv)
    if args.command[:1] == ["--"]:
        args.command.pop(0)
    if not args.command:
        raise CourseError(
            f"There is no command: {parser.prog} -- torchrun --standalone --nproc-per-node 2 "
            "train.py."
        )
    return args


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"a number of seconds, not {text}")
    return seconds
