"""``python -m course report``: try every part of the course on this machine, and write a report.

python -m course report                      every part; one file to attach to an issue
python -m course report --only box links     some parts

The file is in course-runs/. It is written line by line, so an interrupt or a failing part loses
nothing.
"""

import argparse
import contextlib
import importlib.util
import platform
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from course import hardware
from course.commands import report_facts, report_scripts, report_speed, report_terminal
from course.core import ROOT, RUNS, CourseError, words
from course.hardware.doctor import BROKEN, CHECKS, examine
from course.launch import warm_up

if TYPE_CHECKING:
    from course.lessons import Lesson

ON_RANKS = Path(__file__).with_name("report_on_ranks.py")
TOOL_LIMIT_S, LINK_LIMIT_S, SCRIPT_LIMIT_S, NOTEBOOK_LIMIT_S = 120, 300, 600, 1800
TABLE_LINE = re.compile(r" +(size|\d+) ")  # a line of `report_on_ranks`' table, not of NCCL
RESULT_LINES = 3  # last lines of a script that succeeded: its results


class ReportFile:
    """The report, written to a file and printed, line by line.

    `faults` has the items that report a fault; `warnings` counts the commands that gave each
    warning.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(exist_ok=True)
        self._file = path.open("w", encoding="utf-8")
        self.faults: list[str] = []
        self.warnings: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Write a line or a paragraph, with the home folder as ``~``."""
        text = text.replace(f"{Path.home()}/", "~/")
        print(text, flush=True)
        print(text, file=self._file, flush=True)

    def item(self, text: str, *, fault: bool = False, lines: Sequence[str] = ()) -> None:
        """Write a list item, and the lines of output that belong to it."""
        if fault:
            self.faults.append(text)
        self.add(f"- **{text}**" if fault else f"- {text}")
        self.output(lines, indent="  ")

    def warn(self, warnings: Sequence[str]) -> None:
        """Count the warnings of a command, and write those that are new."""
        for warning in warnings:
            if warning not in self.warnings:
                self.add(f"  - warns: {warning}")
        self.warnings.update(warnings)

    def output(self, lines: Sequence[str], indent: str = "") -> None:
        """Write the output of a command as a block, unchanged."""
        if lines:
            self.add("\n".join(indent + line for line in ("~~~", *lines, "~~~")))


def box(report: ReportFile) -> None:
    """The results of the doctor, versions, GPUs with links and clocks, settings."""
    facts = examine()
    for check in CHECKS:
        if result := check(facts):
            report.item(f"{result.level}: {result.text}", fault=result.level == BROKEN)
    report.add("")
    report.output(repr(hardware.Card(facts.machine)).splitlines())
    report.item(f"{platform.platform()}, Python {platform.python_version()}")
    report.item(f"NCCL {facts.torch.nccl or 'is not in this torch'}")
    report.item(", ".join(f"{name} {version}" for name, version in facts.packages.items()))
    for link in facts.machine.links:
        report.item(f"GPU {link.first} and GPU {link.second}: {link.words} ({link.kind})")
    for command in report_facts.tools():
        result = report_terminal.run(command, ROOT, TOOL_LIMIT_S)
        report.item(f"`{shlex.join(command)}`", lines=result.lines)
    for setting in report_facts.settings():
        report.item(f"`{setting}`")


def links(report: ReportFile) -> None:
    """An all-reduce over each pair of GPUs, and over all of them: is it right, how fast is it?"""
    gpus = tuple(range(hardware.gpu_count()))
    if not gpus:
        report.add("There is no GPU, so NCCL is not tried; two ranks on the CPU, with Gloo:\n")
    if len(gpus) == 1:
        report.add("There is one GPU, so NCCL is tried by one rank, which sends nothing:\n")
    pairs = list(combinations(gpus, 2)) if len(gpus) > 2 else []
    for group in [*pairs, gpus]:
        name = f"GPUs {', '.join(map(str, group))}" if group else "CPU"
        torchrun = ["torchrun", "--standalone", "--nproc-per-node", str(len(group) or 2)]
        command = ["env", "NCCL_DEBUG=WARN", *torchrun, str(ON_RANKS), *map(str, group)]
        result = report_terminal.run(command, ROOT, LINK_LIMIT_S)
        if result.code == 0:
            table = list(filter(TABLE_LINE.match, result.lines))
            report.item(f"{name}: right", lines=table if group == gpus else [table[0], table[-1]])
        else:
            report.item(f"{name}: ended {result.ending}", fault=True, lines=result.last_lines)
        report.warn(result.warnings)


def scripts(report: ReportFile) -> None:
    """The scripts of the lessons, solved, each by the command in its docstring."""
    gpus, every, seconds_by_lesson = hardware.gpu_count(), _lessons(), Counter()
    report.add("Ranks run on GPUs where there is one for each of them, else on the CPU.\n")
    with tempfile.TemporaryDirectory(prefix="course-") as name:
        folder = Path(name)
        report_scripts.write(every, folder)
        for command in report_scripts.commands(every):
            if missing := command.missing(folder, gpus):
                report.item(f"not run: `{command.text}` needs {missing}")
                continue
            on_this_box = command.on(gpus)
            result = report_terminal.run(on_this_box, folder, SCRIPT_LIMIT_S)
            seconds_by_lesson[command.lesson] += result.seconds
            line = f"`{shlex.join(on_this_box)}` ({command.lesson}), {result.seconds:.1f} s"
            if result.code != command.code:
                report.item(f"{line}: ended {result.ending}", fault=True, lines=result.last_lines)
            else:
                line += f", ended {result.ending}, as it is meant to" if result.code else ""
                report.item(line, lines=result.lines[-RESULT_LINES:])
            report.warn(result.warnings)
    report.add("\nSeconds per lab:\n")
    for lesson, seconds in seconds_by_lesson.items():
        report.item(f"{lesson}: {seconds:.0f} s")


def speed(report: ReportFile) -> None:
    """What learners write in the labs, solved, against torch's own, timed by the labs' races."""
    ranks, device = hardware.ranks(), hardware.device()
    where = "GPUs" if device == "cuda" else "CPU"
    report.add(f"{words.plural(ranks, 'rank')} on the {where}; the time of the one relative to the")
    report.add("other, the median of the rounds. 1.0: equal.\n")
    warm_up()
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        report_scripts.write(_lessons(), Path(folder))
        with contextlib.chdir(folder):
            for script, pairs in report_speed.races().items():
                try:
                    rows = report_speed.rows(script, ranks)
                except CourseError as error:
                    report.item(f"`{script}`: {error}", fault=True)
                    continue
                for pair in pairs:
                    report.item(f"`{script}`: {report_speed.compared(rows, pair)}")


def notebooks(report: ReportFile) -> None:
    """The solutions, validated by nbval; the labs hold a learner's answers and are left alone."""
    if importlib.util.find_spec("nbval") is None:
        report.add("nbval is not installed, so no notebook was run.")
        return
    for path in sorted((ROOT / "solutions").glob("*.ipynb")):
        pytest = [sys.executable, "-m", "pytest", "--nbval", "--numprocesses=0"]
        result = report_terminal.run([*pytest, str(path)], ROOT, NOTEBOOK_LIMIT_S)
        line = f"{path.stem}, {words.long_duration(result.seconds)}"
        if result.code == 0:
            report.item(line)
        else:
            report.item(f"{line}: ended {result.ending}", fault=True, lines=result.last_lines)


def _lessons() -> list["Lesson"]:
    from course.lessons import lessons  # loads Jupyter, which the first parts do not need

    return lessons(ROOT)


PARTS: dict[str, Callable[[ReportFile], None]] = {
    "box": box,
    "links": links,
    "scripts": scripts,
    "speed": speed,
    "notebooks": notebooks,
}


def main(argv: Sequence[str]) -> int:
    """Write the report; return 1 if it has a fault, 130 after an interrupt, else 0."""
    parser = argparse.ArgumentParser(
        prog="python -m course report",
        description="Try the course on this machine, and write it down.",
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=" ".join(PARTS))
    chosen = parser.parse_args(argv).only or PARTS
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # from a scheduler
    path = Path.cwd() / RUNS / f"report-{time.strftime('%Y-%m-%d-%H%M%S')}.md"
    report, tried, interrupted = ReportFile(path), [], False
    report.add(f"# The course on this machine, {time.strftime('%Y-%m-%d %H:%M')}\n")
    report.add(_version_and_gpus())
    for name in PARTS:
        if name not in chosen or interrupted:
            continue
        report.add(f"\n## {name}: {PARTS[name].__doc__}\n")
        tried.append(name)
        try:
            PARTS[name](report)
        except KeyboardInterrupt:
            interrupted = True
            report.item(f"The part {name} was interrupted.", fault=True)
        except Exception:  # the other parts may still work
            lines = traceback.format_exc().splitlines()
            report.item(f"The part {name} failed.", fault=True, lines=lines)
    report.add(f"\n## {words.plural(len(report.faults), 'fault')} in {', '.join(tried)}\n")
    for fault in report.faults:
        report.add(f"- {fault}")
    if report.warnings:
        report.add("\n## Warnings, and how many commands gave each\n")
    for warning, count in report.warnings.most_common():
        report.add(f"- {count} × {warning}")
    print(f"\nThe report is in {path}. Look through it before you send it.")
    return 130 if interrupted else 1 if report.faults else 0


def _version_and_gpus() -> str:
    """A sentence with the version of the course and the number of GPUs."""
    git = ["git", "describe", "--always", "--dirty"]
    described = report_terminal.run(git, ROOT, TOOL_LIMIT_S) if shutil.which("git") else None
    state = described.lines[0] if described and described.code == 0 else "unknown"
    gpus = hardware.gpu_count()
    used = f"torch can use {words.plural(gpus, 'GPU')}." if gpus else "No GPU takes part."
    return f"State of the course: {state}. {used}"
