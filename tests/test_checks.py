"""What checks do with exercises that nobody has begun."""

from pathlib import Path

import pytest

from course import lesson
from course.checks import ranks, session

LESSON = Path(session.LESSONS) / "03_distributed_data_parallel.md"


@pytest.fixture
def handed_out(tmp_path: Path) -> Path:
    """The scripts of lab 03 as a learner gets them."""
    for path, text in lesson.read(LESSON).scripts(solved=False).items():
        (tmp_path / Path(path).name).write_text(text)
    return tmp_path


def test_an_untouched_exercise_is_open_and_starts_no_ranks(handed_out, monkeypatch):
    monkeypatch.setattr(ranks, "launch", lambda *args, **kwargs: pytest.fail("ranks were started"))
    results = session.run(handed_out, ["my_ddp"])
    assert {result.outcome for result in results} == {session.OPEN}
    assert {result.message.count("TODO") for result in results} == {3}


def test_a_change_is_looked_at(handed_out, monkeypatch):
    asked = []
    monkeypatch.setattr(ranks, "launch", lambda command, **kwargs: asked.append(command) or pytest.skip("enough"))
    script = handed_out / "my_ddp.py"
    script.write_text(script.read_text() + "\n# begun\n")
    session.run(handed_out, ["my_ddp"], only="test_average")
    assert asked
