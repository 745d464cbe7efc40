"""What is recorded of `why` is kept run by run, and only on a quiet machine."""

import json
import lzma
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.why_runs import RUNS, recorded

from course.core.files import ROOT

NAMES = [run.name for run in RUNS[:3]]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`record` of the tool; what it writes, and the machine's loads before the next runs."""
    tool = runpy.run_path(str(ROOT / "tests/tools/measure_why.py"))["record"]
    file, loads = tmp_path / "recorded.xz", []
    of_the_tool = tool.__globals__
    monkeypatch.setitem(of_the_tool, "RECORDED", file)
    monkeypatch.setitem(of_the_tool, "reported", lambda run: [{"new": run.name}])
    few = {name: [{"old": name}] for name in recorded()}  # so that it is written at once
    monkeypatch.setitem(of_the_tool, "recorded", lambda: few)
    quiet = SimpleNamespace(cpu_percent=lambda seconds: loads.pop(0))
    monkeypatch.setitem(of_the_tool, "psutil", quiet)

    def call(*before_each: float) -> dict:
        loads[:] = before_each
        try:
            tool(NAMES)
        finally:
            call.kept = json.loads(lzma.decompress(file.read_bytes()))
        return call.kept

    return call


def test_the_named_runs_are_recorded_again_and_all_others_stay(record):
    kept = record(0.0, 1.0, 2.0)
    assert kept.keys() == recorded().keys()
    assert {name for name in kept if "new" in kept[name][0]} == set(NAMES)


def test_a_busy_machine_ends_it_before_a_run_and_keeps_the_earlier_ones(record):
    with pytest.raises(SystemExit, match="had 60% of the cores"):
        record(0.0, 1.0, 60.0)
    assert record.kept.keys() == recorded().keys()
    assert {name for name in record.kept if "new" in record.kept[name][0]} == set(NAMES[:2])
