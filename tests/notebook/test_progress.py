"""Results are stored next to the scripts, despite restarts, other notebooks and broken files."""

import json
import threading
from pathlib import Path

import pytest
from support.cells import RunCell
from support.disks import mounted

from course.exercises import Outcome, Report, Result
from course.notebook import progress

TEXT = "answer = 42\n"


def report(*outcomes: str, exercise: str = "ring") -> Report:
    """A report on checks a, b, … with these outcomes."""
    checks = tuple("abc"[: len(outcomes)])
    results = [
        Result(name, "", Outcome(outcome)) for name, outcome in zip(checks, outcomes, strict=True)
    ]
    return Report(exercise, checks, results)


def test_what_passed_is_read_again_with_the_script_that_passed(tmp_path: Path) -> None:
    progress.record(report("passed", "failed"), "first", tmp_path)
    begun = progress.read("ring", tmp_path)
    assert (begun.passed_checks, begun.check_count) == (["a"], 2)
    assert begun.passed_at == begun.script == ""
    progress.record(report("passed", "passed"), TEXT, tmp_path)
    progress.record(report("failed", "passed"), "worse", tmp_path)
    record = progress.read("ring", tmp_path)
    assert record.passed_checks == ["b"] and record.script == TEXT
    assert record.passed_at <= record.checked_at
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["ring.json"]


def test_nothing_is_kept_of_what_nobody_has_begun(tmp_path: Path) -> None:
    progress.record(report("open", "open"), TEXT, tmp_path)
    assert progress.read("ring", tmp_path) is None and list(tmp_path.iterdir()) == []


def test_an_open_check_does_not_undo_a_pass(tmp_path: Path) -> None:
    """A clean run of the notebook writes the blank script again."""
    progress.record(report("passed"), TEXT, tmp_path)
    progress.record(report("open"), "blank", tmp_path)
    assert progress.read("ring", tmp_path).passed_checks == ["a"]


GOOD = {"exercise": "ring", "when": "2026-11-22T15:20:00", "holds": ["a"], "checks": 1}


def test_the_files_of_earlier_versions_are_read_and_written_alike(tmp_path: Path) -> None:
    path = tmp_path / "kept" / "ring.json"
    path.parent.mkdir()
    stored = GOOD | {"passed": GOOD["when"], "script": TEXT, "seconds": 1.5}
    path.write_text(json.dumps(stored), encoding="utf-8")
    record = progress.read("ring", tmp_path)
    assert record == progress.Record("ring", GOOD["when"], ["a"], 1, GOOD["when"], TEXT, 1.5)
    progress.write(record, tmp_path)
    assert json.loads(path.read_text(encoding="utf-8")) == stored


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"exercise": "ring", "wh',
        b"\xff\xfe",
        b"[]",
        b"[" * 100_000,
        b'{"exercise": "ring"}',
        *(
            json.dumps(GOOD | wrong).encode()
            for wrong in (
                {"more": 1},
                {"when": "yesterday"},
                {"when": 5},
                {"passed": "once"},
                {"holds": [["a"]]},
                {"holds": None},
                {"holds": "ab"},
                {"checks": "1"},
                {"script": None},
            )
        ),
    ],
)
def test_a_broken_file_is_put_aside_and_said_once(tmp_path: Path, capsys, content: bytes) -> None:
    path = tmp_path / "kept" / "ring.json"
    path.parent.mkdir()
    path.write_bytes(content)
    assert progress.read("ring", tmp_path) is None
    output = capsys.readouterr().out
    [aside] = path.parent.iterdir()
    assert aside.read_bytes() == content and aside.name.startswith("ring.json.broken-")
    assert "ring.json could not be read. It is now ring.json.broken-" in output
    assert output.count("\n") == 1
    progress.record(report("passed"), TEXT, tmp_path)
    assert progress.read("ring", tmp_path).script == TEXT and aside.read_bytes() == content
    assert capsys.readouterr().out == ""


def test_a_folder_in_the_place_of_the_file_is_put_aside(tmp_path: Path) -> None:
    (tmp_path / "kept" / "ring.json").mkdir(parents=True)
    progress.record(report("passed"), TEXT, tmp_path)
    progress.record(report("failed"), TEXT, tmp_path)
    assert progress.read("ring", tmp_path).passed_at


@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_where_nothing_can_be_written_a_sentence_says_so(tmp_path, capsys, fault) -> None:
    if fault == "full":
        with mounted(tmp_path, "size=64k"):
            (tmp_path / "kept").mkdir()
            (tmp_path / "rest").write_bytes(b"x" * 56 * 1024)
            progress.record(report("passed"), TEXT * 4000, tmp_path)
            assert list((tmp_path / "kept").iterdir()) == []
    else:
        (tmp_path / "kept").write_text("in the way")
        progress.record(report("passed"), TEXT, tmp_path)
    output = capsys.readouterr().out
    assert output.startswith("This result is not kept for the map of the labs: ")
    assert output.count("\n") == 1


def test_two_notebooks_at_once_lose_nothing(tmp_path: Path) -> None:
    names = [f"exercise_{number}" for number in range(8)]

    def passes(name: str) -> None:
        for _ in range(20):
            progress.record(report("passed", exercise=name), TEXT, tmp_path)

    threads = [threading.Thread(target=passes, args=[name]) for name in (*names, *names)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(progress.read(name, tmp_path).passed_at for name in names)
    assert len(list((tmp_path / "kept").iterdir())) == len(names)


def test_a_check_keeps_what_passed_and_says_so_when_it_no_longer_does(
    cell: RunCell, labs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = ["passed"]
    monkeypatch.setattr("course.checks.check", lambda name, **_: report(*outcomes, exercise=name))
    script = labs / "src" / "ring.py"
    script.write_text(TEXT)
    assert cell("%check ring").shown.splitlines()[1:] == [
        "ring: 1 of 1 checks hold. It was the last exercise of lab 02: read on there.",
        "  ✓ ",
    ]
    outcomes[:] = ["failed"]
    same = cell("%check ring").shown.splitlines()[0]
    assert same.startswith("ring passed on ") and "src/ring.py is still as it was then" in same
    script.write_text("answer = 41\n")
    changed = cell("%check ring").shown.splitlines()[0]
    assert changed.endswith("`%changes ring` shows what is different in src/ring.py now.")
    lines = cell("%changes ring").result.lines
    assert [line for line in lines[2:] if line[0] in "+-"] == ["-answer = 42", "+answer = 41"]
    outcomes[:] = ["open"]
    assert "passed on" not in cell("%check ring").shown
    script.write_text(TEXT)
    assert cell("%changes ring").shown == "src/ring.py is as it was when it passed.\n"


def test_a_check_names_as_next_what_has_not_passed(
    cell: RunCell, labs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course.checks.check", lambda name, **_: report("passed", exercise=name))
    (labs / "src" / "start_here.py").write_text(TEXT)
    progress.record(report("passed", exercise="my_all_gather"), TEXT, labs / "src")
    assert "hold. Next: `my_reduce_scatter`." in cell("%check start_here").shown
