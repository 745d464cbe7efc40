"""Checks of exercises that are not begun, and what checks leave behind: nothing."""

import re
import tempfile
from pathlib import Path

import pytest

from course.checks.runner import check, on_ranks, session
from course.core import RUNS, CourseError, lesson_marks
from course.exercises import Outcome, exercises
from course.launch import connect
from course.lessons import lesson

LESSON = lesson_marks.LESSONS / "03_distributed_data_parallel.md"


def hand_out(path: Path, folder: Path) -> Path:
    """Write the scripts of a lab in the form that learners get."""
    for target, text in lesson.read(path).scripts(solved=False).items():
        (folder / Path(target).name).write_text(text)
    return folder


@pytest.fixture
def handed_out(tmp_path: Path) -> Path:
    return hand_out(LESSON, tmp_path)


@pytest.mark.parametrize("path", lesson_marks.lab_paths(), ids=lambda path: path.stem)
def test_an_untouched_exercise_is_open_and_starts_no_ranks(path, tmp_path, monkeypatch):
    monkeypatch.setattr(
        on_ranks, "launch", lambda *args, **kwargs: pytest.fail("ranks were started")
    )
    hand_out(path, tmp_path)
    names = [name for name in exercises() if (tmp_path / f"{name}.py").exists()]
    reports = session.run(tmp_path, names)
    assert names == [report.exercise for report in reports]
    results = [result for report in reports for result in report.results]
    assert {result.outcome for result in results} == {Outcome.OPEN}
    assert all("TODO" in result.message for result in results)


def test_all_todos_of_an_untouched_exercise_are_said(handed_out):
    (report,) = session.run(handed_out, ["my_ddp"])
    assert {result.message.count("TODO") for result in report.results} == {3}


@pytest.mark.rest
def test_what_is_written_is_judged_beside_open_todos(handed_out):
    """TODO 1 joins the group, and TODO 4 evaluates; three others are done and pass."""
    solved = lesson.read(LESSON).scripts(solved=True)["src/ddp.py"]
    blank = (handed_out / "ddp.py").read_text()
    for name in ("setup", "accuracy"):
        whole = re.compile(rf"^def {name}\(.*?(?=^def )", re.MULTILINE | re.DOTALL)
        solved = solved.replace(whole.search(solved)[0], whole.search(blank)[0])
    (handed_out / "ddp.py").write_text(solved)
    (report,) = session.run(handed_out, ["ddp"])
    by_outcome = {result.check: result.outcome for result in report.results}
    judged = {name for name, outcome in by_outcome.items() if outcome == Outcome.PASSED}
    assert judged == {
        "test_wrap",
        "test_shares",
        "test_in_order",
        "test_reshuffles",
        "test_same_weights",
    }
    assert {by_outcome[name] for name in by_outcome.keys() - judged} == {Outcome.OPEN}


def test_checks_that_cannot_be_collected_are_named(handed_out):
    with pytest.raises(CourseError, match=r"The checks of my_ddp could not be run \(pytest says 4"):
        session.run(handed_out, ["my_ddp"], only="test_none")
    with pytest.raises(CourseError, match="The checks of all exercises could not be run"):
        session.run(handed_out, [], only="test_none")


def test_a_change_is_looked_at(handed_out, monkeypatch):
    names = []
    monkeypatch.setattr(
        on_ranks, "launch", lambda command, **kwargs: names.append(command) or pytest.skip("enough")
    )
    script = handed_out / "my_ddp.py"
    script.write_text(script.read_text() + "\n# begun\n")
    session.run(handed_out, ["my_ddp"], only="test_average")
    assert names


def leaves_something():
    """The path of a file that nothing removes."""
    return tempfile.mkstemp()[1]


@pytest.mark.slow
def test_ranks_leave_no_temporary_files(tmp_path):
    (left,) = on_ranks.CheckRanks(tmp_path).call(1, leaves_something, limit=300)  # it may be cold
    assert Path(left).parent.name.startswith("course-check-") and not Path(left).parent.exists()


@pytest.mark.slow
def test_a_check_leaves_no_run_beside_the_learners_own(handed_out, monkeypatch):
    monkeypatch.chdir(handed_out)
    check.check("my_ddp", src=".")
    assert list(RUNS.iterdir()) == []


@pytest.mark.slow
def test_checks_wait_for_a_warm_server_but_not_where_ranks_are_new_interpreters(monkeypatch):
    """With a variable that Python reads at its start, every rank is always a new interpreter."""
    connect.warm_up()
    monkeypatch.setenv("HF_READ_AT_START", "1")
    on_ranks.await_warm_ranks.cache_clear()
    waits, real = [], on_ranks.CheckRanks.call
    monkeypatch.setattr(
        on_ranks.CheckRanks, "call", lambda *a, **k: waits.append(a) or real(*a, **k)
    )
    on_ranks.await_warm_ranks()
    assert len(waits) == 1
