"""A guess is read as people type it, stored, and shown next to the measurement."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from course.core import CourseError
from course.notebook import guesses
from course.notebook.guesses import Question

GROWTH = Question("growth", "By what factor does the time grow?", "times")
TIME = Question("barrier", "How long does a barrier take?", "ms")
A100 = Question("a100", "Does it rise?", choices=("falls", "stays", "rises"))
WHY = Question("why", "Why?")


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("16,000", 16000.0),
        ("16 000", 16000.0),
        ("1,234,567", 1234567.0),
        ("1,234.5", 1234.5),
        ("3,5", 3.5),
        ("0,125", 0.125),
        (".5", 0.5),
        ("~ 70", 70.0),
        ("-2", -2.0),
        ("1e4", 1e4),
        (" 3 ms ", 3.0),
        ("3ms", 3.0),
    ],
)
def test_numbers_are_read_as_people_type_them(typed: str, value: float) -> None:
    assert TIME.answer(typed) == value


@pytest.mark.parametrize(
    "typed", ["", "three", "nan", "inf", "1e999", "1e16", "1e-13", "1 2", "3 s", "--3", "1/2"]
)
def test_what_is_no_number_is_refused_in_a_sentence(typed: str) -> None:
    with pytest.raises(CourseError, match="Your guess here is a number, such as 3"):
        TIME.answer(typed)


def test_choices_and_lines_of_text() -> None:
    assert A100.answer(" falls ") == "falls"
    with pytest.raises(CourseError, match="Choose one of: falls, stays"):
        A100.answer("sinks")
    assert WHY.answer(" a  line ") == "a line"
    for wrong in ("", "x" * 301):
        with pytest.raises(CourseError, match="one line"):
            WHY.answer(wrong)


AT = "2026-11-23T10:00:00"
LATER = "2026-11-23T10:00:01"


@pytest.mark.parametrize(
    ("question", "guess", "value", "sentence"),
    [
        (TIME, 3.0, 0.041, "You guessed 3 ms, it was 41 µs: 73 times less."),
        (TIME, 0.041, 3.0, "You guessed 41 µs, it was 3 ms: 73 times as much."),
        (TIME, 3.0, 3.0, "You guessed 3 ms, it was 3 ms: as you guessed."),
        (TIME, 3.0, 3.1, "You guessed 3 ms, it was 3.1 ms: as you guessed, within 5 %."),
        (TIME, 3.0, 4.5, "You guessed 3 ms, it was 4.5 ms: 50 % more."),
        (TIME, 4.0, 3.0, "You guessed 4 ms, it was 3 ms: 25 % less."),
        (TIME, 0.0, 3.0, "You guessed 0 s, it was 3 ms."),
        (GROWTH, 16000.0, 900.4, "You guessed 16,000 times, it was 900 times: 18 times less."),
        (replace(GROWTH, unit="%"), 90.0, 41.2, "You guessed 90 %, it was 41 %: 49 points less."),
        (replace(GROWTH, unit="%"), 41.0, 41.2, "You guessed 41 %, it was 41 %: as you guessed."),
        (A100, "falls", "falls", "You guessed “falls”, it was “falls”: as you guessed."),
        (A100, "rises", "falls", "You guessed “rises”, it was “falls”."),
        (WHY, "so", "thus", "You guessed “so”, it was “thus”."),
        (TIME, None, 0.041, "It was 41 µs."),
        (TIME, 3.0, None, "You guessed 3 ms."),
    ],
)
def test_the_guess_stands_beside_the_measurement(question, guess, value, sentence: str) -> None:
    measured = LATER if value else ""
    known = replace(question, guess=guess, guessed=AT, value=value, measured=measured)
    assert known.sentence() == sentence


def test_a_guess_after_a_run_says_so() -> None:
    late = replace(TIME, guess=3.0, guessed=LATER, value=0.041, measured=AT)
    assert late.late and late.sentence().endswith("73 times less. (You guessed after a run.)")
    assert not replace(late, guessed=AT).late


def test_what_is_kept_is_read_again_and_each_question_has_a_file(tmp_path: Path) -> None:
    for known in (replace(TIME, guess=3.0, guessed=AT), replace(A100, value="falls", measured=AT)):
        guesses.write(known, tmp_path)
        assert guesses.read(known.name, tmp_path) == known
        assert guesses.recall(replace(known, guess=None, guessed=""), tmp_path) == known
    assert [known.name for known in guesses.read_all(tmp_path)] == ["a100", "barrier"]
    assert guesses.read("growth", tmp_path) is None and guesses.recall(GROWTH, tmp_path) is GROWTH


GOOD = asdict(replace(TIME, guess=3.0, guessed=AT))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"name": "barr',
        b"\xff\xfe",
        b"[]",
        b"[" * 100_000,
        *(
            json.dumps(GOOD | wrong).encode()
            for wrong in (
                {"more": 1},
                {"guess": "three"},
                {"guess": float("nan")},
                {"guess": 1e300},
                {"guessed": "yesterday"},
                {"value": [1]},
                {"unit": 5},
                {"name": "../up"},
                {"choices": [1]},
                {"choices": None},
                {"unit": "", "guess": "x" * 301},
            )
        ),
    ],
)
def test_a_broken_file_is_put_aside_and_said_once(tmp_path: Path, capsys, content: bytes) -> None:
    path = guesses.path("barrier", tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert guesses.recall(TIME, tmp_path) == TIME
    [aside] = path.parent.iterdir()
    assert aside.read_bytes() == content and aside.name.startswith("barrier.json.broken-")
    output = capsys.readouterr().out
    assert output.count("\n") == 1 and "and guesses are kept from here on." in output
    guesses.write(replace(TIME, guess=3.0, guessed=AT), tmp_path)
    assert [known.guess for known in guesses.read_all(tmp_path)] == [3.0]


def test_a_question_that_an_update_has_changed_puts_the_old_guess_aside(tmp_path, capsys) -> None:
    guesses.write(replace(TIME, guess=3.0, guessed=AT), tmp_path)
    assert guesses.recall(replace(TIME, question="How long?"), tmp_path).guess == 3.0
    other = replace(TIME, unit="%")
    assert guesses.recall(other, tmp_path) == other
    assert "The question barrier was another one before" in capsys.readouterr().out
    [aside] = guesses.path("barrier", tmp_path).parent.iterdir()
    assert guesses.parse(aside.read_text()).guess == 3.0


def test_where_nothing_can_be_written_a_sentence_says_so(tmp_path: Path, capsys) -> None:
    (tmp_path / "kept").write_text("in the way")
    guesses.write(replace(TIME, guess=3.0, guessed=AT), tmp_path)
    output = capsys.readouterr().out
    assert output.startswith("This guess is not kept: ") and output.count("\n") == 1
