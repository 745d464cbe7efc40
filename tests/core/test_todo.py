"""Open exercises: which TODOs a script still has, and which traceback is that of a TODO."""

from pathlib import Path

from support.scripts import TODO

from course.core import todo


def test_todos_are_found_in_order(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TODO)
    assert todo.open_todos(tmp_path / "mine.py") == [
        "TODO 2: average over the ranks",
        "TODO 3: do it in place",
    ]
    assert todo.open_todos(tmp_path / "none.py") == []
    assert todo.numbers(TODO) == [2, 3] and todo.numbers("") == []


def test_only_a_todo_counts_as_one() -> None:
    place = '  File "/labs/src/mine.py", line 3, in f\n    raise Not\n'
    frame = f"Traceback (most recent call last):\n{place}"
    assert todo.met(frame + "NotImplementedError: TODO 2: average") == Path("/labs/src/mine.py")
    assert todo.met(frame + "NotImplementedError: something else") is None
    assert todo.met(frame + "ValueError: TODO 2: average") is None
    assert todo.met("") is None
