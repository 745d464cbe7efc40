"""The record of a run: metrics, exit codes, and the rank that failed first."""

import signal
from pathlib import Path

import pytest
from support.patience import PATIENCE_S

from course.core import RUNS
from course.launch import connect, interpreter, launch
from course.launch.messages import Lines, RankEnded, Reason
from course.launch.run import TRACEBACK, Line, Run

TODO = [TRACEBACK, '  File "mine.py", line 3, in f', "    g()", "NotImplementedError: TODO 1: g"]
BROKEN = [TRACEBACK, '  File "mine.py", line 9, in f', "RuntimeError: Connection closed by peer"]


def test_metrics_are_a_table() -> None:
    rows = [
        {"rank": 1, "time": 12.5, "step": 1, "loss": 0.5},
        {"rank": 0, "time": 10.0, "step": 1, "accuracy": 0.9},
    ]
    table = Run(["torchrun", "script.py"], RUNS, rows=rows).metrics
    assert list(table["time"]) == [2.5, 0.0] and list(table["rank"]) == [1, 0]
    assert {"step", "loss", "accuracy"} <= set(table.columns)
    assert len(Run(["torchrun", "script.py"], RUNS).metrics) == 0


def test_what_gloo_raises_is_told_without_its_source_and_advice() -> None:
    run = Run(["torchrun", "script.py"], RUNS)
    message = (
        "RuntimeError: [/src/gloo/transport/tcp/pair.cc:553] Connection closed by peer "
        "[127.0.0.1]:23476. This is typically caused by a remote worker crashing. Good luck!"
    )
    run.lines = [Line(0, "stderr", text) for text in (TRACEBACK, '  File "a.py"', message)]
    assert run.raised(0) == "RuntimeError: Connection closed by peer [127.0.0.1]:23476."


def wrote(rank: int, lines: list[str]) -> Lines:
    return Lines(rank, "stderr", lines)


def terminated(*ranks: int) -> list[RankEnded]:
    return [RankEnded(rank, -signal.SIGTERM) for rank in ranks]


@pytest.mark.parametrize(
    ("events", "first"),
    [
        ([RankEnded(0, 0), RankEnded(1, 0)], None),
        (
            [wrote(0, BROKEN), RankEnded(0, 0), RankEnded(1, 0)],
            None,
        ),  # it told of an exception
        ([wrote(1, TODO), wrote(0, BROKEN), RankEnded(0, 1), RankEnded(1, 1)], 1),
        # killed without a word; what the others say of it is heard before
        ([wrote(0, BROKEN), RankEnded(2, -signal.SIGKILL), RankEnded(0, 1), *terminated(1)], 2),
        ([wrote(0, BROKEN), *terminated(2), RankEnded(0, 1)], 2),
        # ended by the launcher when another had failed
        ([*terminated(1), RankEnded(0, 1)], 1),
        ([RankEnded(0, 7), *terminated(1)], 0),
        # both raise; the launcher ends them all before the first has ended by itself
        ([wrote(2, TODO), wrote(1, TODO), RankEnded(1, 1), *terminated(0, 2, 3)], 2),
        # it was ended before it had written which exception it was
        ([wrote(2, TODO[:2]), wrote(1, TODO), RankEnded(1, 1), *terminated(0, 2, 3)], 1),
    ],
)
def test_the_rank_in_which_the_trouble_began(events: list, first: int | None) -> None:
    run = Run(["torchrun", "script.py"], RUNS)
    for event in events:
        run.take(event)
    assert run.first_failed == first
    assert run.unfinished == (first is not None and "TODO" in run.traceback(first))


def test_processes_of_a_rank_that_are_ended_while_they_write_do_not_hide_its_todo() -> None:
    run = Run(["python", "script.py"], RUNS)
    for event in (
        wrote(0, [*TODO[:2], TRACEBACK, *TODO[2:], TRACEBACK, BROKEN[1]]),
        RankEnded(0, 1),
    ):
        run.take(event)
    assert run.met_todo == Path("mine.py") and run.unfinished


def test_a_supervisor_that_cannot_start_is_tried_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example, the notebook finds the course on a path that new processes do not have."""
    started = tmp_path / "started"
    (tmp_path / "script.py").touch()
    monkeypatch.setattr(interpreter, "BEGIN", f"print('{{module}}', file=open('{started}', 'a'))")
    monkeypatch.delenv(connect.SOCKET, raising=False)
    monkeypatch.chdir(tmp_path)
    run = launch(["python", "script.py"], limit=PATIENCE_S)
    assert run.reason == Reason.LOST and not run.ok
    assert started.read_text().split() == ["supervisor"] * 2
