"""The answer of `why` while a run is going on, and again at its end."""

import argparse
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.made_steps import STEP, computed, same

from course.diagnostics import WhyAnswer, terminal
from course.diagnostics.watch import report_files


@pytest.mark.parametrize("passes", [400, 4000])
def test_an_answer_is_printed_again_only_if_the_run_went_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passes: int
) -> None:
    lines = []
    monkeypatch.setattr(terminal, "say", lines.append)
    ranks = same(*computed(), STEP, tail=2.0)
    args = argparse.Namespace(stop=False, quiet=False)
    question = terminal.Question("why", "profiling", lambda folder: WhyAnswer(ranks))
    run = SimpleNamespace(folder=tmp_path, shared_folder=None, has_all_ranks=True, passes=26)
    early = terminal.EarlyAnswer(question, args)
    assert early.lead == ""
    assert not early.is_enough(run) and lines == []
    for rank in ranks:
        report_files.write(rank, tmp_path)
    assert not early.is_enough(run) and not early.is_enough(run)
    assert len(lines) == 1 and lines[0].startswith("\ncomputing: ")
    assert early.is_new(early.answer, passes) == (passes == 4000)
    assert early.lead == "At the end of the run:\n"
