"""The answer that is printed while the run goes on, and whether one at its end repeats it."""

from argparse import Namespace
from pathlib import Path

import pytest

from course.diagnostics import terminal
from course.diagnostics.watch import report_files
from course.diagnostics.watch.process import PROFILING


class Answer(str):
    """An answer without findings."""

    findings = ()


def test_only_what_is_new_or_far_up_is_printed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_files, "all_have_reported", lambda folder, everywhere: True)
    printed: list[str] = []
    monkeypatch.setattr(terminal, "say", printed.append)
    question = terminal.Question("why", PROFILING, lambda folder: Answer("a step takes 1 s"))
    early = terminal.EarlyAnswer(question, Namespace(stop=False, quiet=False))
    assert early.is_new(Answer("a step takes 1 s"), 20) and early.lead == ""
    run = Namespace(has_all_ranks=True, shared_folder=None, folder=tmp_path, passes=25)
    assert not early.is_enough(run)
    assert printed == ["\na step takes 1 s\n"]
    assert not early.is_new(Answer("a step takes 1 s"), 100)
    assert early.is_new(Answer("a step takes 1 s"), 2000)
    assert early.is_new(Answer("a step takes 2 s"), 100) and early.lead
