"""The recordings of `why` are kept run by run, and only on a quiet machine."""

import json
import lzma
import runpy
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.why_runs import RUNS

from course.core.files import ROOT

FIRST, SECOND, THIRD = RUNS[:3]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """The tool's `record` with the first three runs, of which the third is already recorded."""
    tool = runpy.run_path(str(ROOT / "tests/tools/measure_why.py"))["record"]
    tool_globals, loads = tool.__globals__, []
    quiet = SimpleNamespace(cpu_percent=lambda seconds: loads.pop(0))
    new = {
        "RECORDED": tmp_path,
        "RUNS": RUNS[:3],
        "psutil": quiet,
        "reports_of": lambda run: [{"new": run.name}],
    }
    for name, value in new.items():
        monkeypatch.setitem(tool_globals, name, value)
    (tmp_path / THIRD.file).write_bytes(lzma.compress(b'[{"old": 1}]'))

    def call(names: list[str], *loads_before: float) -> None:
        loads[:] = loads_before
        tool(names)

    return call


def kept(folder: Path) -> dict[str, str]:
    """The files in the folder, and whether each is new or old."""
    files = folder.iterdir()
    ranks = {path.name: json.loads(lzma.decompress(path.read_bytes())) for path in files}
    return {name: "new" if "new" in first else "old" for name, (first,) in ranks.items()}


def test_what_was_never_recorded_is_recorded(tmp_path: Path, record: Callable) -> None:
    record([], 0.0, 1.0)
    assert kept(tmp_path) == {FIRST.file: "new", SECOND.file: "new", THIRD.file: "old"}


def test_a_named_run_is_recorded_again(tmp_path: Path, record: Callable) -> None:
    record([THIRD.name], 0.0)
    assert kept(tmp_path) == {THIRD.file: "new"}


def test_a_busy_machine_ends_it_before_a_run(tmp_path: Path, record: Callable) -> None:
    with pytest.raises(SystemExit, match="had 60% of the cores"):
        record([], 1.0, 60.0)
    assert kept(tmp_path) == {FIRST.file: "new", THIRD.file: "old"}
