"""Write findings as text and as JSON, in one form for all tools."""

import json
import platform
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from course.core import CourseError, write_atomically
from course.diagnostics.answers.paragraph import paragraph
from course.diagnostics.finding import Finding
from course.diagnostics.run.ending import RunEnding

if TYPE_CHECKING:
    from course.launch import Run

Judgement = TypeVar("Judgement")
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


def judge_unless_failed(run: "Run", judge: Callable[[], Judgement]) -> Judgement | None:
    """What `judge` returns; None if the run failed before enough of it was seen.

    Raises `CourseError` if the run went well but cannot be judged.
    """
    try:
        return judge()
    except CourseError:
        if run.ok:
            raise
        return None


def write(path: Path, tool: str, command: Sequence[str], findings: Sequence[Finding],
          **more: object) -> None:  # fmt: skip
    """Write findings as JSON to `path`; `more` has the fields that the tool itself adds.

    Raises `CourseError` if the file cannot be written.
    """
    report = {
        "schema": SCHEMA,
        "tool": tool,
        "command": list(command),
        "versions": {"course": _version("multi-gpu-course"), "torch": _version("torch"),
                     "python": platform.python_version()},
        "findings": [finding.plain() for finding in findings],
        **more,
    }  # fmt: skip
    try:
        write_atomically(path, json.dumps(report, indent=1) + "\n")
    except OSError as error:
        raise CourseError(
            f"The answer as JSON cannot be written to {path}: {error.strerror}."
        ) from None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
