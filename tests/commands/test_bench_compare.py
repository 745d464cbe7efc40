"""``python -m course bench --compare``: the files of several machines in one table."""

import json

import pytest

from course.commands import bench
from course.commands.bench_results import Result, side_by_side, write
from course.core.errors import CourseError

RING = Result("ring", "your ring, 16 MB", "torch's all-reduce", 2, 0.98, 0.91, 1.04)
DDP = Result("ddp", "torch's DDP, per step", "no communication", 2, 1.31, 1.2, 1.44)


@pytest.fixture
def laptop(tmp_path):
    path = tmp_path / "laptop.json"
    write([RING, Result("ddp", DDP.first, DDP.second, 2, note="failed: OSError: no")], path)
    return path


@pytest.fixture
def server(tmp_path):
    path = tmp_path / "server.json"
    write([DDP], path)
    return path


def test_each_machine_is_a_column_and_each_contest_a_line(laptop, server):
    lines = side_by_side([laptop, server]).splitlines()
    assert lines[0].startswith("A  laptop.json, 20") and lines[1].startswith("B  server.json, 20")
    ring = next(line for line in lines if line.startswith(RING.first))
    ddp = next(line for line in lines if line.startswith(DDP.first))
    assert ring.split()[-1] == "–" and RING.measured in ring
    assert ddp.index("failed: OSError: no") == ring.index(RING.measured)
    assert ddp.index(DDP.measured) == ring.index("–", ring.index(RING.measured) + 23)
    assert "1.0 = equal" in lines[-1]


def test_the_command_holds_no_contest(laptop, server, capsys, monkeypatch):
    monkeypatch.setattr(bench, "compete", None)
    assert bench.main(["--compare", str(laptop), str(server)]) == 0
    assert DDP.measured in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", [None, "", "[]", "{}", json.dumps({"box": "b", "date": "d", "results": [{"a": 1}]})]
)
def test_another_file_is_refused_in_one_sentence(text, tmp_path, laptop):
    path = tmp_path / "other.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(CourseError, match=r"other.json is not a bench of a machine: give files"):
        side_by_side([laptop, path])


def test_there_is_an_end_to_the_columns(laptop):
    with pytest.raises(CourseError, match="room for 26 files, not for 27"):
        side_by_side([laptop] * 27)
