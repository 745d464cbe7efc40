"""The guesses of a class are read from its submissions, and shown without names."""

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest
from support.grading import page, run, table
from support.pictures import assert_fits

from course.charts import guesses
from course.commands import grade
from course.commands.grading import guesses_page
from course.commands.grading.submissions import Submission, collect
from course.exercises import exercises
from course.notebook.guesses import FOLDER, Question

QUESTION = "By what factor does the <time> grow?"
AT, LATER = "2026-11-23T10:00:00", "2026-11-23T11:00:00"


def growth(guess: object, value: object = 116.0, **more: object) -> Question:
    fields = {"unit": "times", "guessed": AT, "measured": LATER} | more
    return Question("message_growth", QUESTION, guess=guess, value=value, **fields)


def hand_in(folder: Path, learner: str, text: str) -> None:
    at = folder / learner / "kept" / FOLDER
    at.mkdir(parents=True)
    (folder / learner / "ring.py").write_text("print(1)\n")
    (at / "message_growth.json").write_text(text)


def test_guesses_are_read_and_what_is_broken_or_too_large_is_left_out(tmp_path: Path) -> None:
    good = json.dumps(asdict(growth(1000.0)))
    handed_in = {"ada": good, "ben": "{", "cyd": good + " " * 20_000, "dan": "[" * 9000}
    for learner, text in handed_in.items():
        hand_in(tmp_path / "class", learner, text)
    submissions = {
        submission.learner: submission
        for submission in collect(tmp_path / "class", tmp_path / "work")
    }
    assert submissions["ada"].guesses == {"message_growth": growth(1000.0)}
    assert not any(submissions[learner].guesses for learner in ("ben", "cyd", "dan"))
    assert "more than 10 KiB" in submissions["cyd"].problem and submissions["ben"].problem == ""
    assert all(submission.exercises == ["ring"] for submission in submissions.values())


def test_the_command_writes_the_page_and_guesses_do_not_make_late(tmp_path: Path, capsys) -> None:
    hand_in(tmp_path / "class", "ada", json.dumps(asdict(growth(1000.0))))
    script = tmp_path / "class" / "ada" / "ring.py"
    script.write_text(exercises()["ring"].script(solved=False))
    os.utime(script, (0, 0))
    assert run(tmp_path / "class", "--names", "ring", "--trust", "--due", "2026-01-01") == 0
    shown = page(tmp_path / "class", "guesses.html")
    assert "In the middle the room guessed 1,000 times and measured 116 times" in shown
    assert 'href="guesses.html"' in page(tmp_path / "class")
    assert "late" not in table(tmp_path / "class")["ada"]["notes"]


def test_the_page_is_there_before_the_checks_and_only_of_the_labs_asked_for(
    tmp_path: Path, monkeypatch
) -> None:
    hand_in(tmp_path / "class", "ada", json.dumps(asdict(growth(1000.0))))

    def judge(*_: object) -> None:
        raise RuntimeError("the checks begin")

    monkeypatch.setattr(grade.Judge, "judge", judge)
    for lab, guessed in (("02", True), ("03", False)):
        with pytest.raises(RuntimeError):
            run(tmp_path / "class", "--lab", lab, "--trust")
        assert ("the room guessed" in page(tmp_path / "class", "guesses.html")) == guessed


def room(*answers: Question) -> str:
    return guesses_page.page(
        [
            Submission(f"learner-{number}", Path("src"), guesses={guess.name: guess})
            for number, guess in enumerate(answers)
        ]
    )


def test_the_page_shows_the_spread_and_no_names() -> None:
    shown = room(growth(1000.0), growth(16000.0), growth(20.0, guessed=LATER, measured=AT))
    assert "In the middle the room guessed 1,000 times and measured 116 times" in shown
    assert "3 guessed, 3 measured, on one logarithmic axis" in shown
    assert "3 answers; 1 person guessed after a run" in shown
    assert "learner-" not in shown and "the &lt;time&gt; grow" in shown


def test_who_skipped_or_answered_an_older_question_does_not_count() -> None:
    shown = room(growth(10.0), growth(None), growth(20.0), growth(0.5, unit="ms"))
    assert "2 guessed, 3 measured" in shown
    assert "Nobody handed in a guess" in room(growth(None)) and "Nobody" in room()


def test_choices_and_text() -> None:
    either = {"unit": "", "choices": ("falls", "<rises>")}
    shown = room(growth("falls", "falls", **either), growth("<rises>", "falls", **either))
    assert "falls: guessed by 1, measured by 2" in shown and "<rises>" not in shown
    shown = room(growth("<b>", "so", unit=""), growth("<b>", "so", unit=""))
    assert "<td>&lt;b&gt;</td><td>2</td>" in shown


def test_the_pictures_fit() -> None:
    for guessed, measured in (
        ([1000.0, 1000.0, 3.0], [116.0]),
        ([-5.0, 0.0], [3.0]),
        ([2.0], [2.0]),
        ([2.0], []),
    ):
        assert_fits(guesses.numbers(guessed, measured, growth(1.0).shown))
    assert_fits(guesses.choices(("falls", "rises"), ["falls"] * 60, ["rises"] * 7))
