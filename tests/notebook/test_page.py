"""The learner's page has everything that is stored and nothing else, whatever the name contains."""

import hashlib
from pathlib import Path

import pytest

from course.__main__ import main
from course.core import ROOT, CourseError
from course.lessons import labs
from course.notebook import guesses, page, progress
from course.notebook.guesses import Question

AT, LATER = "2026-11-22T15:20:00", "2026-11-22T15:30:00"
SCRIPT = "answer = 42\n"


@pytest.fixture
def src(tmp_path: Path) -> Path:
    """A learner's folder: `ring` passed and changed, `ddp` begun, two questions answered."""
    progress.write(progress.Record("ring", AT, ["a", "b"], 2, AT, SCRIPT, 75.4), tmp_path)
    progress.write(progress.Record("ddp", AT, ["a"], 6, seconds=20), tmp_path)
    (tmp_path / "ring.py").write_text(SCRIPT)
    growth = Question("message_growth", "By what <factor>?", "times", (), 1000.0, AT, 116.0, LATER)
    guesses.write(growth, tmp_path)
    ring = Question("ring_share", "Your ring?", "times", (), 0.5, AT, 0.9, LATER, best=0.97)
    guesses.write(ring, tmp_path)
    guesses.write(Question("h200", "How fast?", "times", guessed=AT), tmp_path)
    return tmp_path


def test_the_page_says_what_is_kept(src: Path) -> None:
    text = page.page("Ada <b>", src)
    assert "Ada &lt;b&gt;" in text and "<b>" not in text and "<factor>" not in text
    exercises = sum(len(lab.exercises) for lab in labs(ROOT))
    assert f"<td>1 of {exercises} exercises passed</td>" in text
    digest = hashlib.sha256(SCRIPT.encode()).hexdigest()[:16]
    assert f"<td>22 Nov 2026</td><td>2 of 2 hold, 75 s</td><td><code>{digest}</code></td>" in text
    assert "<td>not yet</td><td>1 of 6 hold, 20 s</td><td></td>" in text
    assert "You guessed 1,000 times, it was 116 times: 8.6 times less." in text
    assert "8.6 times less.</td>" in text, "no run of it is the best one"
    best = "You guessed 0.5 times, it was 0.9 times: 80 % more.<br>Best of all runs: 0.97 times."
    assert f"{best}</td>" in text and "Labs" not in text, "of no lab all exercises have passed"
    assert "How fast?" not in text, "skipped, and not measured"
    assert "ran for 2 min in all" in text and "What this page does not prove" in text
    assert text.count("<h2>") == 3, "labs 02 and 03, and what it does not prove"


def test_labs_are_named_of_which_all_exercises_have_passed(src: Path) -> None:
    lab = next(lab for lab in labs(ROOT) if len(lab.exercises) == 2)
    for count, exercise in enumerate(lab.exercises, start=1):
        progress.write(progress.Record(exercise, AT, ["a"], 1, AT, SCRIPT, 1.0), src)
        assert (f"all exercises passed in {lab.number}" in page.page("", src)) == (count == 2)


def test_a_script_that_has_changed_is_said_to_have(src: Path) -> None:
    assert "(changed since)" not in page.page("", src)
    (src / "ring.py").write_text("worse")
    assert "(changed since)" in page.page("", src)


def test_nothing_is_invented_where_nothing_is_kept(tmp_path: Path) -> None:
    text = page.page("", tmp_path)
    assert "_" * 30 in text and "0 of " in text
    assert "ran for" not in text and text.count("<h2>") == 1


def test_the_command_and_the_cell_write_the_same_place(src: Path, capsys) -> None:
    assert main(["page", "Ada", "--src", str(src)]) == 0
    assert str(src / "page.html") in capsys.readouterr().out
    assert "Ada" in (src / "page.html").read_text()
    assert f"[{src}/page.html]({src}/page.html)" in page.write("Ben", src).text
    assert "Ben" in (src / "page.html").read_text()
    assert "http" not in (src / "page.html").read_text().replace("http-equiv", "")


def test_a_page_that_cannot_be_written_is_refused_in_one_sentence(tmp_path: Path, capsys) -> None:
    assert main(["page", "--src", str(tmp_path / "none")]) == 2
    assert "There is no folder" in capsys.readouterr().err
    (tmp_path / "page.html").mkdir()
    with pytest.raises(CourseError, match="cannot be written"):
        page.write("", tmp_path)
