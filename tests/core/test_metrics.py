"""If the disk refuses metrics, they are printed, and a sentence says so once."""

import json
import os

import pytest

from course.core import METRICS_FILE, log, metrics


@pytest.fixture(autouse=True)
def no_file_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_unwritable", set())


def test_a_file_that_cannot_be_written_is_named_once(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv(METRICS_FILE, str(tmp_path / "nowhere" / "metrics.jsonl"))
    monkeypatch.delenv("RANK", raising=False)
    for step in range(3):
        log(step=step)
    out, err = capsys.readouterr()
    assert out == "step 0\nstep 1\nstep 2\n"
    assert err.count("metrics are printed, since") == err.count("\n") == 1


def test_a_row_that_was_cut_short_does_not_spoil_the_next(tmp_path, monkeypatch, capsys) -> None:
    """On an almost full disk only part of a row may be written; later there is space again."""
    path, write = tmp_path / "metrics.jsonl", os.write
    monkeypatch.setenv(METRICS_FILE, str(path))
    log(step=0)
    with monkeypatch.context() as full:
        full.setattr(metrics.os, "write", lambda file, data: write(file, data[:7]))
        log(step=1)
    log(step=2)
    lines = path.read_text().splitlines()
    assert [json.loads(lines[at])["step"] for at in (0, 2)] == [0, 2] and len(lines) == 3
    out, err = capsys.readouterr()
    assert "step 1" in out and "No space left on device" in err
