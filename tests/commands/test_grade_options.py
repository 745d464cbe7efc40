"""The options of `grade`, and one sentence for each that makes no sense."""

import pytest
from support.grading import hand_in, run

from course.__main__ import main
from course.commands import grade


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[ada", "cannot be read"),
        ("ada = 1", "the entry of 'ada' is not a table: write it below [\"ada\"]"),
        ("[ada]\nrang = 1", "rang = 1 is not an exercise and its points"),
        ("[ada]\nring = nan", "ring = nan is not an exercise and its points"),
        ("[ada]\nring = true", "ring = True is not an exercise and its points"),
        ("[ada]\nremark = 1", "`remark` is a text"),
        ("[eve]\nring = 1", "'eve', who is not in this class"),
    ],
)
def test_comments_that_make_no_sense(tmp_path, judged, capsys, text, sentence):
    folder = hand_in(tmp_path, ada__ring="a = 1")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "comments.toml").write_text(text)
    assert run(folder) == 2
    assert sentence in capsys.readouterr().err
    assert judged["requests"] == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ring = [", "cannot be read"),
        ("rang = 1", "rang = 1 is not an exercise and its points"),
        ("ring = -1", "ring = -1 is not an exercise and its points"),
        ("ring = nan", "ring = nan is not an exercise and its points"),
        ("ring = inf", "ring = inf is not an exercise and its points"),
    ],
)
def test_weights_that_make_no_sense(tmp_path, judged, capsys, text, sentence):
    folder = hand_in(tmp_path, ada__ring="a = 1")
    (tmp_path / "weights.toml").write_text(text)
    assert run(folder, "--weights", str(tmp_path / "weights.toml")) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--lab", "2"], "There is no lab '2' with exercises: 00, 01"),
        (["--names", "rang"], "There is no exercise rang. Did you mean ring?"),
        (["--jobs", "0"], "take numbers above 0"),
        (["--minutes", "nan"], "take numbers above 0"),
        (["--late-percent", "101"], "from 0 to 100"),
        (["--due", "tomorrow"], "'tomorrow' is not a time: write it as"),
        (["--roster", "absent.csv"], "The roster absent.csv cannot be read"),
    ],
)
def test_options_that_make_no_sense(tmp_path, judged, capsys, arguments, sentence):
    assert run(hand_in(tmp_path, ada__ring="a = 1"), *arguments) == 2
    assert sentence in capsys.readouterr().err


def test_results_do_not_lie_among_the_submissions(tmp_path, judged, capsys):
    folder = hand_in(tmp_path, ada__ring="a = 1")
    assert main(["grade", str(folder), "--out", str(folder / "out")]) == 2
    assert "lies among the submissions" in capsys.readouterr().err


def test_nothing_handed_in_is_one_sentence(tmp_path, judged, capsys):
    (tmp_path / "class").mkdir()
    assert run(tmp_path / "class") == 2
    assert capsys.readouterr().err.startswith("There are no submissions in")
    assert run(tmp_path / "absent") == 2
    assert capsys.readouterr().err.startswith("There is no folder")


@pytest.mark.parametrize("name", grade.RESULTS)
def test_a_file_of_the_teachers_is_not_replaced(tmp_path, judged, capsys, name):
    folder = hand_in(tmp_path, ada__ring="a = 1")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("mine")
    assert run(folder) == 2
    assert f"{name} is there and is not a result of this command" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]
    assert (tmp_path / "out" / name).read_text() == "mine"


def test_results_take_the_place_of_an_earlier_runs(tmp_path, judged):
    folder = hand_in(tmp_path, ada__ring="a = 1")
    (tmp_path / "class.csv").write_text("name\nada\n")
    for _ in range(2):
        assert run(folder, "--roster", str(tmp_path / "class.csv"), "--names", "ring") == 0
    there = {path.name for path in (tmp_path / "out").iterdir()}
    assert there == {*grade.RESULTS, grade.WORK, "comments.toml"}


def test_the_roster_that_is_given_is_not_replaced(tmp_path, judged, capsys):
    folder = hand_in(tmp_path, ada__ring="a = 1")
    assert run(folder, "--names", "ring") == 0
    roster = tmp_path / "out" / "roster.csv"
    roster.write_text("name,points\nada,typed\n")
    assert run(folder, "--names", "ring", "--roster", str(roster)) == 2
    assert "The points would be written over" in capsys.readouterr().err
    assert roster.read_text() == "name,points\nada,typed\n"
