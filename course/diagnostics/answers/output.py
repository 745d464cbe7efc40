"""Write findings as text and as JSON, in one form for all tools."""

import json
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from course.core import CourseError, installed, write_atomically
from course.diagnostics.answers.paragraph import paragraph
from course.diagnostics.finding import Finding
from course.diagnostics.run.ending import ITSELF, RunEnding

Answer = TypeVar("Answer")
SCHEMA = 1  # the version of the JSON, which "For programs" in diagnostics/run/how.md describes


def ending(run_ending: RunEnding) -> str:
    """How a run ended, where its ranks stood, and why, as text; "" if there is nothing to say."""
    parts = [run_ending.lead, *run_ending.ranks, text(run_ending.findings)]
    return "\n".join(filter(None, parts))


def text(findings: Sequence[Finding]) -> str:
    """A paragraph for each finding: its name, what was seen, the cure and its lab."""
    return "\n".join(_paragraph(finding) for finding in findings)


def _paragraph(finding: Finding) -> str:
    lab = f" Lab {finding.lab} teaches it." if finding.lab else ""
    name = finding.what[0].upper() + finding.what[1:]
    sentences = [f"{name}: {finding.says}"]
    if finding.cure:
        sentences.append(f"Cure: {finding.cure}{lab}")
    return "\n".join(map(paragraph, sentences))


def last_answer(
    tool: str, judge: Callable[[Path], Answer | None], folder: Path, run_ending: RunEnding
) -> Answer | None:
    """The answer at the end of a run, which `judge` gives for the reports in a folder.

    None if the run failed or hung before enough of it was seen. Raises `CourseError` if it went
    well but cannot be judged.
    """
    try:
        answer = judge(folder)
    except CourseError:
        if run_ending.code or run_ending.findings:
            return None
        raise
    if answer is None and run_ending.ended == ITSELF and not run_ending.code:
        raise CourseError(
            f"No rank reported anything: `{tool}` watches Python scripts that use torch. "
            "Does the command start Python with -I, -E or -S?"
        )
    return answer


def write(path: Path, tool: str, command: Sequence[str], findings: Sequence[Finding],
          **more: object) -> None:  # fmt: skip
    """Write findings as JSON to `path`; `more` has the fields that the tool itself adds.

    Raises `CourseError` if the file cannot be written.
    """
    report = {
        "schema": SCHEMA,
        "tool": tool,
        "command": list(command),
        "versions": {"course": installed.version(installed.PACKAGE),
                     "torch": installed.version("torch"), "python": platform.python_version()},
        "findings": [finding.plain() for finding in findings],
        **more,
    }  # fmt: skip
    try:
        write_atomically(path, json.dumps(report, indent=1) + "\n")
    except OSError as error:
        raise CourseError(
            f"The answer as JSON cannot be written to {path}: {error.strerror}."
        ) from None
