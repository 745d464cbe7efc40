"""A lesson is read unchanged, and its solutions become numbered TODOs."""

import ast
import re
from pathlib import Path

import pytest
from support.lesson_samples import GOOD, code, course

from course.core.errors import CourseError
from course.lessons.lesson import Lesson, lessons


def only(root: Path, text: str) -> Lesson:
    return lessons(course(root, sample=text))[0]


def test_lines_of_cells_are_those_of_the_file(tmp_path):
    lesson = only(tmp_path, GOOD)
    for cell in lesson.cells:
        lines = cell.source.splitlines()
        assert lesson.lines[cell.line - 1 : cell.line - 1 + len(lines)] == lines
    assert [cell.kind for cell in lesson.cells] == ["markdown", *["code"] * 3, "markdown", "code"]


def test_the_first_cell_shows_the_numbers_of_the_header(tmp_path):
    header = "---\ncourse:\n  minutes: 60\n  seconds: 5\n  needs: ['04b']\n---\n"
    lesson = only(tmp_path, f"{header}# Title\n\nIt takes {{{{ minutes }}}} minutes.\n")
    assert (lesson.minutes, lesson.seconds, lesson.needs) == (60, 5, ["04b"])
    assert lesson.cells[0].source == "# Title\n\nIt takes 60 minutes."
    assert lesson.lines[lesson.cells[0].line - 1] == "# Title"


def test_magics_and_script_lines_are_left_as_they_are(tmp_path):
    lesson = only(
        tmp_path, code("%load_ext course", "run = %torchrun --standalone src/a.py", "%check ring")
    )
    assert lesson.cells[1].source.splitlines()[0] == "%load_ext course"
    assert "#" not in lesson.cells[1].source
    assert only(tmp_path / "b", GOOD).cells[2].source.startswith("%%writefile src/adding.py\n")


def test_solutions_become_todos_numbered_through_the_lab_at_their_indent(tmp_path):
    lab = "\n".join(only(tmp_path, GOOD).sources(solved=False))
    assert re.findall(r"^( *)# TODO (\d): (.*)$", lab, re.MULTILINE) == [
        ("    ", "1", 'what is "a" and b?'),
        ("    ", "2", "one addition"),
        ("        ", "3", "count"),
    ]
    raised = re.findall(r"^( *)raise NotImplementedError\((.*)\)$", lab, re.MULTILINE)
    assert [(indent, ast.literal_eval(text)) for indent, text in raised] == [
        ("    ", 'TODO 1: what is "a" and b?'),
        ("    ", "TODO 2: one addition"),
        ("        ", "TODO 3: count"),
    ]


def test_the_solved_script_is_the_cell_without_its_first_line(tmp_path):
    lesson = only(tmp_path, GOOD)
    scope = {}
    exec(lesson.scripts(solved=True)["src/adding.py"], scope)
    assert (scope["add"](1, 2), scope["twice"](4)) == (3, 8)
    exec(lesson.scripts(solved=False)["src/adding.py"], scope)
    with pytest.raises(NotImplementedError, match="TODO 2: one addition"):
        scope["twice"](4)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("---\na: [\n---\n# Title\n", 1),
        ("---\ncourse: 60\n---\n# Title\n", 1),
        (code(":tags: [a", "", "1"), 10),
        (code(":tags: raises-exception", "", "1"), 11),
        (code(":tags: [no]", "", "1"), 11),  # YAML's `no` is False
    ],
)
def test_options_that_cannot_be_read_are_told_with_their_line(tmp_path, text, line):
    with pytest.raises(CourseError, match=rf"^course/lessons/00_sample\.md:{line}: "):
        only(tmp_path, text)
