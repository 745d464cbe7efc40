"""`right --deep` in a terminal: run a script on several ranks, then on one process, and compare.

Rank 0 records how it was started. The second run starts that process again, as the only rank.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from course.core import CourseError
from course.diagnostics import shared, terminal_run
from course.diagnostics.answers import output
from course.diagnostics.answers.deep_answer import DeepAnswer
from course.diagnostics.finding import Finding
from course.diagnostics.numerics import reader
from course.diagnostics.numerics.training import COMMAND, TrainingReport
from course.diagnostics.right import against_one, verdict
from course.diagnostics.right.against_one import DeepOutcome
from course.diagnostics.run.ending import INTERRUPTED, ITSELF, STOPPED, RunEnding
from course.diagnostics.terminal_run import TerminalRun, exit_code
from course.diagnostics.watch import report_files
from course.diagnostics.watch.command import say
from course.diagnostics.watch.process import BATCHES, NUMERICS

SPAWNED = "--multiprocessing-fork"  # among the words of a process that the script itself started
# How variables begin that describe the group of ranks; they are wrong for a process on its own.
GROUP_PREFIXES = ("TORCHELASTIC_", "GROUP_", "ROLE_", "COURSE_")
ALONE = {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "0"}


def right(args: argparse.Namespace) -> int:
    """Run the command `right --deep`, and return its exit code.

    Raises `CourseError` if the command is one rank of a run that others start.
    """
    if args.rank or args.folder:
        raise CourseError(
            "--deep starts a script on one process, too, so it needs the command that starts all "
            "ranks, without --rank and --folder."
        )
    with terminal_run.open_folder(args) as (folder, _):
        ending, answer = _both_runs(args, folder)
    findings: list[Finding] = [*ending.findings, *(answer.findings if answer else [])]
    if answer and (answer.findings or not args.quiet):
        say(f"\n{answer}")
    if args.json:
        more = answer.plain() if answer else {"ranks": 0, "steps": 0, "rows": [], "parameters": []}
        output.write(args.json, "right", args.command, findings, **ending.plain() | more)
    return exit_code(ending, bool(answer and answer.findings))


def _both_runs(args: argparse.Namespace, folder: Path) -> tuple[RunEnding, DeepAnswer | None]:
    several, one, batches = (folder / name for name in ("ranks", "one", "batches"))
    for path in (several, one, batches):
        path.mkdir()
    ending = _run(args, several, {BATCHES: str(batches)})
    command = _command(batches)
    if ending.findings or ending.code or ending.ended not in (ITSELF, STOPPED):
        return ending, None
    ranks = [reader.read(path) for path in sorted(several.glob("rank*.json"))]
    verdict.require_all_reports(ranks)
    reason = against_one.hindrance(ranks, len(list(batches.glob("*.pt")))) or _cannot_start(command)
    if reason:
        return ending, DeepAnswer(against_one.not_compared(reason), len(ranks))
    if not args.quiet:
        say("\nNow one process, with the batches of all ranks.\n")
    alone_args = argparse.Namespace(**vars(args) | {"command": command["words"]})
    alone = _run(alone_args, one, _alone(command["env"]) | {BATCHES: str(batches)})
    if alone.ended == INTERRUPTED:
        return alone, None
    return ending, DeepAnswer(_outcome(ranks, one, alone), len(ranks))


def _run(args: argparse.Namespace, folder: Path, more: dict[str, str]) -> RunEnding:
    """Run a command until all its ranks have taken the steps to compare."""

    def is_enough(_: TerminalRun) -> bool:
        return report_files.can_be_ended(folder)

    return TerminalRun(args, folder, None, against_one.STEPS, is_enough, NUMERICS, more).finish()


def _command(batches: Path) -> dict[str, Any]:
    """Read how rank 0 was started, and delete the file; {} if there is none.

    It is deleted because it holds the rank's whole environment.
    """
    path = batches / COMMAND
    if not path.exists():
        return {}
    raw: dict[str, Any] = json.loads(path.read_text())
    path.unlink()
    return raw


def _cannot_start(command: dict[str, Any]) -> str:
    if not command or SPAWNED in command["words"]:
        return "the script starts its ranks itself, so it cannot be started as one process"
    return ""


def _alone(env: dict[str, str]) -> dict[str, str]:
    """The environment of rank 0, changed so that it is the only rank."""
    environment = {
        name: value for name, value in env.items() if not name.startswith(GROUP_PREFIXES)
    }
    for rank, world in shared.RANK_VARIABLES:
        environment |= {name: value for name, value in ((rank, "0"), (world, "1")) if name in env}
    return environment | ALONE


def _outcome(ranks: list[TrainingReport], folder: Path, ending: RunEnding) -> DeepOutcome:
    reports = [reader.read(path) for path in folder.glob("rank*.json")]
    if ending.code or ending.ended not in (ITSELF, STOPPED):
        return against_one.not_compared(
            "the script fails on one process, or hangs, with the batches of all ranks"
        )
    if not reports:
        return against_one.not_compared("the script joins no group on one process")
    return against_one.compare(ranks, reports[0])
