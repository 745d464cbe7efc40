"""``python -m course grade``: what a class handed in, judged, shown and counted."""

import csv
import json
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support import solutions

from course.__main__ import main
from course.checks import Report
from course.commands import grade
from course.hardware import bubblewrap

RING = '"""src/ring.py: a ring."""\n\n\ndef all_reduce(tensor):\n    return tensor\n'


def notebook(*cells: str) -> str:
    """A notebook with these code cells, as a file's text."""
    return json.dumps({"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]})


@pytest.fixture
def handed_in(tmp_path: Path) -> Path:
    """Submissions of every kind, one of them broken, two of them the same program."""
    folder = tmp_path / "class"
    (folder / "ada" / "labs" / "src").mkdir(parents=True)
    (folder / "ada" / "labs" / "src" / "ring.py").write_text(RING)
    same = RING.replace("    return", "    # mine\n    return")
    (folder / "bob.ipynb").write_text(notebook("1 + 1", f"%%writefile src/ring.py\n{same}"))
    with zipfile.ZipFile(folder / "cyd.zip", "w") as archive:
        archive.writestr("work/my_ddp.py", "raise SystemExit\n")
        archive.writestr("work/ring.py", RING + "\n\nother = 1\n")
        archive.writestr("../outside.py", "")
    (folder / "dan.zip").write_bytes(b"no zip file")
    (folder / "eve").mkdir()
    return folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What is checked, (exercise, learner); one of two checks of each exercise holds."""
    asked = []

    def check(name: str, src: str, isolated: bool) -> Report:
        asked.append((name, Path(src).parent.name, *["isolated"] * isolated))
        results = [
            {"claim": "It adds.", "outcome": "passed", "message": "", "hint": "", "printed": ""},
            {
                "claim": "It ends.",
                "outcome": "failed",
                "message": "<no>",
                "hint": "",
                "printed": "",
            },
        ]
        return Report(name, results)

    monkeypatch.setattr(grade, "check", check)
    monkeypatch.setattr(grade, "warm_up", lambda: None)
    return asked


def run(folder: Path, out: Path, *arguments: str) -> int:
    return main(["grade", str(folder), "--out", str(out), *arguments])


def test_each_kind_of_submission_is_checked_and_a_broken_one_stops_nothing(
    handed_in, asked, tmp_path
):
    out = tmp_path / "out"
    assert run(handed_in, out) == 1
    assert sorted(asked) == [("my_ddp", "cyd"), ("ring", "ada"), ("ring", "bob"), ("ring", "cyd")]
    rows = {row["learner"]: row for row in csv.DictReader((out / "grades.csv").open())}
    assert [rows[name]["points"] for name in ("ada", "cyd", "dan")] == ["0.5", "1.0", "0.0"]
    assert rows["ada"]["ring"] == "0.5" and rows["ada"]["my_ddp"] == "0.0"
    page = (out / "index.html").read_text()
    assert "5 learners, 2 exercises" in page
    assert "dan.zip cannot be read: File is not a zip file" in page
    assert "eve holds no script and no notebook that has one" in page
    assert not (tmp_path / "outside.py").exists() and not (out / "work" / "outside.py").exists()


def test_the_same_program_is_pointed_out(handed_in, asked, tmp_path):
    run(handed_in, tmp_path / "out")
    assert "<li>ring: ada, bob</li>" in (tmp_path / "out" / "index.html").read_text()


def test_what_is_handed_in_as_it_was_handed_out_is_not_called_the_same(tmp_path, asked):
    for learner in ("ada", "bob"):
        folder = tmp_path / "class" / learner
        folder.mkdir(parents=True)
        (folder / "ring.py").write_text(grade.handed_out()["ring"])
    assert run(tmp_path / "class", tmp_path / "out") == 0
    assert "The same program" not in (tmp_path / "out" / "index.html").read_text()


def test_only_what_has_changed_is_checked_again(handed_in, asked, tmp_path):
    run(handed_in, tmp_path / "out")
    asked.clear()
    run(handed_in, tmp_path / "out")
    assert asked == []
    (handed_in / "ada" / "labs" / "src" / "ring.py").write_text(RING + "\n")
    run(handed_in, tmp_path / "out")
    assert asked == [("ring", "ada")]


def test_a_verdict_without_isolation_does_not_count_with_it(
    handed_in, asked, tmp_path, monkeypatch
):
    monkeypatch.setattr(bubblewrap, "missing", lambda: None)
    run(handed_in, tmp_path / "out", "--names", "my_ddp")
    run(handed_in, tmp_path / "out", "--names", "my_ddp", "--isolated")
    run(handed_in, tmp_path / "out", "--names", "my_ddp", "--isolated")
    assert asked == [("my_ddp", "cyd"), ("my_ddp", "cyd", "isolated")]


@pytest.mark.parametrize("command", ["check", "grade"])
def test_where_nothing_can_be_isolated_nothing_is_run(
    handed_in, asked, tmp_path, monkeypatch, capsys, command
):
    monkeypatch.setattr(bubblewrap, "missing", lambda: "bwrap is missing: install it")
    where = {"check": ["--src", str(handed_in)], "grade": [str(handed_in), "--out", "out"]}
    assert main([command, *where[command], "--isolated"]) == 2
    assert capsys.readouterr() == (
        "",
        "The code cannot be isolated here: bwrap is missing: install it.\n",
    )
    assert asked == []


def test_pages_and_junit_say_what_a_learner_reads(handed_in, asked, tmp_path):
    run(handed_in, tmp_path / "out")
    feedback = (tmp_path / "out" / "feedback" / "ada.html").read_text()
    assert "ring: 1 of 2 checks hold." in feedback and "&lt;no&gt;" in feedback
    suite = ElementTree.parse(tmp_path / "out" / "junit" / "ada.xml").find("testsuite")
    assert suite.attrib == {"name": "ring", "tests": "2", "failures": "1", "skipped": "0"}
    assert [case.get("name") for case in suite] == ["It adds.", "It ends."]


def test_points_follow_the_weights(handed_in, asked, tmp_path):
    (tmp_path / "weights.toml").write_text("ring = 4\nmy_ddp = 0\n")
    run(handed_in, tmp_path / "out", "--weights", str(tmp_path / "weights.toml"))
    rows = {row["learner"]: row for row in csv.DictReader((tmp_path / "out/grades.csv").open())}
    assert rows["ada"]["points"] == rows["cyd"]["points"] == "2.0"


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ("ring = [", "cannot be read"),
        ("rang = 1", "rang = 1 is not an exercise and its points"),
        ("ring = -1", "ring = -1 is not an exercise and its points"),
    ],
)
def test_weights_that_make_no_sense(handed_in, asked, tmp_path, capsys, weights, said):
    (tmp_path / "weights.toml").write_text(weights)
    assert run(handed_in, tmp_path / "out", "--weights", str(tmp_path / "weights.toml")) == 2
    assert said in capsys.readouterr().err


def test_nothing_handed_in_is_one_sentence(tmp_path, capsys):
    (tmp_path / "class").mkdir()
    assert run(tmp_path / "class", tmp_path / "out") == 2
    assert capsys.readouterr().err.startswith("There are no submissions in")
    assert run(tmp_path / "absent", tmp_path / "out") == 2
    assert capsys.readouterr().err.startswith("There is no folder")


def test_real_checks_of_two_learners_at_a_time(tmp_path):
    for learner in ("ada", "bob"):
        (tmp_path / "class" / learner).mkdir(parents=True)
        solutions.write("00_start_here", tmp_path / "class" / learner)
    names = ("--names", "start_here", "my_reduce_scatter", "--jobs", "2")
    assert run(tmp_path / "class", tmp_path / "out", *names) == 0
    rows = list(csv.DictReader((tmp_path / "out" / "grades.csv").open()))
    assert [row["points"] for row in rows] == ["2.0", "2.0"]
