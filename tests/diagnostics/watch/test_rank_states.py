"""A process that takes no snapshots is sent a signal, and no other process gets that signal."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from support.patience import until

from course.diagnostics.watch import rank_states
from course.diagnostics.watch.identity import creation_ticks
from course.diagnostics.watch.rank_states import RankReader
from course.diagnostics.watch.snapshots import ASK, Snapshot
from course.diagnostics.watch.thresholds import STALE_S

CATCHES = f"""
import signal, time
signal.signal({int(ASK)}, lambda *_: None)
print("ready", flush=True)
time.sleep(3600)
"""
CATCHES_NOT = CATCHES.replace(f"signal.signal({int(ASK)}, lambda *_: None)", "")
CATCHING = pytest.mark.parametrize("process", [CATCHES], indirect=True, ids=["catches"])
WITHOUT = pytest.mark.parametrize("process", [CATCHES_NOT], indirect=True, ids=["does not"])


@pytest.fixture
def process(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen]:
    """A process that runs this code."""
    with subprocess.Popen([sys.executable, "-c", request.param], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process
        process.kill()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Record the signals that would be sent, and deliver none."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(rank_states.os, "kill", lambda pid, number: asked.append((pid, number)))
    return asked


def states(folder: Path, pid: int, created: int) -> list[rank_states.RankState]:
    """The states of the ranks after a process has taken no snapshot for a while."""
    at = time.time() - 2 * STALE_S
    snapshot = Snapshot(0, 1, os.uname().nodename, pid, at, at=at, count=9, created=created)
    (folder / "snapshot.json").write_text(json.dumps(asdict(snapshot)))
    return RankReader(folder).ranks()


@CATCHING
def test_a_rank_that_keeps_pythons_lock_is_asked(
    tmp_path: Path, process: subprocess.Popen, asked: list
) -> None:
    (state,) = states(tmp_path, process.pid, creation_ticks(process.pid))
    assert state.alive and state.snapshot.unmoved > STALE_S
    assert asked == [(process.pid, ASK)]


@WITHOUT
def test_a_program_in_the_place_of_a_rank_is_let_alone(
    tmp_path: Path, process: subprocess.Popen, asked: list
) -> None:
    """For example after `os.execvp`: the signal would end it, and we cannot know if it is stuck."""
    assert states(tmp_path, process.pid, creation_ticks(process.pid)) == []
    assert asked == []


@CATCHING
def test_a_process_that_has_got_the_id_of_a_rank_is_let_alone(
    tmp_path: Path, process: subprocess.Popen, asked: list
) -> None:
    (state,) = states(tmp_path, process.pid, creation_ticks(process.pid) - 1)
    assert state.alive is False and asked == []


def test_a_process_notes_when_it_was_created(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "course", "run", "--keep", "kept", "--"]
    code = "import os; print(os.getpid(), flush=True); input()"
    with subprocess.Popen(
        [*words, sys.executable, "-c", code],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as run:  # fmt: skip
        pid = int(run.stdout.readline())
        until(lambda: list(tmp_path.glob("kept/*/snapshot.json")))
        (path,) = tmp_path.glob("kept/*/snapshot.json")
        assert json.loads(path.read_text())["created"] == creation_ticks(pid) > 0
        run.communicate("\n")
