"""Open exercises: which TODOs a script still has, and which tracebacks come from a TODO."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.scripts import TODO

from course.core import todo

READS = """
from pathlib import Path
from course.core import todo
print(ascii(todo.open_todos(Path("mine.py"))))
"""


def test_todos_are_found_in_order(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TODO)
    assert todo.open_todos(tmp_path / "mine.py") == [
        "TODO 2: average over the ranks",
        "TODO 3: do it in place",
    ]
    assert todo.open_todos(tmp_path / "none.py") == []
    assert todo.numbers(TODO) == [2, 3] and todo.numbers("") == []


def test_a_script_is_read_as_utf_8_in_every_locale(tmp_path: Path) -> None:
    text = 'raise NotImplementedError("TODO 1: Größe?")'
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", READS]
    read = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert read.stdout.strip() == ascii(["TODO 1: Größe?"]), read.stderr


def test_many_todos_are_told_by_their_numbers(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    todos = [f'raise NotImplementedError("TODO {number}: think")' for number in (2, 5, 6, 7)]
    script.write_text("\n".join(todos))
    assert todo.sentence(script) == (
        "Still to write in mine.py: TODO 2, 5 to 7. Then run this cell again."
    )
    script.write_text("\n".join(todos[:2]))
    assert "TODO 2: think. TODO 5: think. Then" in todo.sentence(script)


def test_todos_in_sentences_are_split_into_todos_again() -> None:
    todos = ["TODO 2: Think. What is lost?", "TODO 10: Where is `TODO`?"]
    assert todo.split(todo.in_sentences(todos)) == todos
    assert todo.split("src/a.py is not there yet.") == ["src/a.py is not there yet."]


def test_only_a_todo_counts_as_one() -> None:
    place = '  File "/labs/src/mine.py", line 3, in f\n    raise Not\n'
    frame = f"Traceback (most recent call last):\n{place}"
    assert todo.script_of_open_todo(frame + "NotImplementedError: TODO 2: average") == Path(
        "/labs/src/mine.py"
    )
    assert todo.script_of_open_todo(frame + "NotImplementedError: something else") is None
    assert todo.script_of_open_todo(frame + "ValueError: TODO 2: average") is None
    assert todo.script_of_open_todo("") is None


def test_a_todo_that_python_cannot_read_is_told_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text('raise NotImplementedError("TODO 1: \\x")\n')
    assert todo.open_todos(tmp_path / "mine.py") == ["TODO 1: \\x"]


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 200_000,
        " " * 200_000,
        "raise NotImplementedError(" * 10_000,
        'raise NotImplementedError("TODO 1: ' + '")' * 100_000,
        ('raise NotImplementedError("TODO 1: a")' + " " * 500 + "x\n") * 200,
        "Traceback (most recent call last):\n" + 'z File "a", line 1\n' * 20_000,
        'File "' * 30_000,
        'File "a", line 1\n' + "\n" * 200_000,
    ],
    ids=lambda text: f"{text[:12]!r} and so on",
)
def test_no_text_takes_long(tmp_path: Path, text: str) -> None:
    """A learner writes the text and the judging process searches it, so no search is quadratic.

    The limit is processor time, a hundred times what it takes.
    """
    (tmp_path / "mine.py").write_text(text)
    start = time.process_time()
    todo.open_todos(tmp_path / "mine.py")
    todo.script_of_open_todo(text)
    assert time.process_time() - start < 30
