"""The answer of `why` while a run goes on, and again at its end."""

import argparse
from pathlib import Path

import pytest
from support.made_steps import STEP, computed, same

from course.own import Answer, terminal
from course.own.watch import report_files


@pytest.mark.parametrize("passes", [40, 400])
def test_an_answer_is_printed_again_only_if_the_run_went_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passes: int
) -> None:
    made, lines = [26], []
    monkeypatch.setattr(terminal, "say", lines.append)
    ranks = same(*computed(), STEP, tail=2.0)
    args = argparse.Namespace(stop=False, quiet=False)
    question = terminal.Question("why", "time", lambda folder: Answer(ranks))
    early = terminal._Early(question, tmp_path, False, args, lambda: made[0])
    assert not early.is_over() and lines == []
    for rank in ranks:
        report_files.write(rank, tmp_path)
    assert not early.is_over() and not early.is_over()
    assert len(lines) == 1 and lines[0].startswith("\ncomputing: ")
    made[0] = passes
    assert early.is_new(early.answer) == (passes == 400)
