"""The minutes of a lab: which work is counted, and that optional sections are not."""

from pathlib import Path

import nbformat
import pytest
from nbformat import v4
from support.lesson_samples import HEADER, course

from course.lessons.lesson import Lesson, lessons
from course.lessons.sitting import LINES_PER_MINUTE, PRINTED_PER_MINUTE, Sitting, sitting

TOP = HEADER + "# A lab\n\nTwo words.\n\n"


def counted(root: Path, text: str, *printed: str) -> Sitting:
    """The sitting of a lab whose code cells have printed these texts, in order."""
    lab = lessons(course(root, sample=text))[0]
    return sitting(lab, _built(lab, root / "solved.ipynb", printed))


def _built(lab: Lesson, path: Path, printed: tuple[str, ...]) -> Path:
    notebook, texts = v4.new_notebook(), iter(printed)
    for cell in lab.cells:
        made = v4.new_markdown_cell if cell.kind == "markdown" else v4.new_code_cell
        notebook.cells.append(made(cell.source))
        if cell.kind == "code" and (text := next(texts, "")):
            notebook.cells[-1].outputs = [v4.new_output("stream", text=text)]
    nbformat.write(notebook, path)
    return path


def code(*lines: str) -> str:
    return "\n".join(["```{code-cell}", *lines, "```", "", ""])


def exercise(lines: int) -> str:
    """A cell with a TODO that this many lines solve."""
    solution = ["a = 1"] * lines
    return code("%%writefile src/a.py", "### BEGIN SOLUTION hint: a", *solution, "### END SOLUTION")


@pytest.mark.parametrize(("lines", "minutes"), [(1, 0.5), (6, 3), (7, 7), (10, 10)])
def test_a_line_of_a_long_solution_takes_a_whole_minute(tmp_path, lines, minutes):
    lab = counted(tmp_path, TOP + exercise(lines))
    assert (lab.todos, lab.written) == (1, minutes)


def test_each_solution_is_long_or_short_by_itself(tmp_path):
    assert counted(tmp_path, TOP + exercise(6) + exercise(7)).written == 3 + 7


def test_an_optional_section_ends_with_the_next_one_and_takes_no_time(tmp_path):
    optional = "## If you have time: more\n\nMany words.\n\n" + exercise(9)
    optional += code("run = %torchrun a.py") + code("%check a") + "### Still the same\n\nMore.\n\n"
    last = "## And now\n\nLast words.\n\n" + code("print(1)")
    texts = ("", "lost\n" * 40, "lost\n" * 40, "1\n")
    assert counted(tmp_path / "with", TOP + optional + last, *texts).minutes == (
        counted(tmp_path / "without", TOP + last, "1\n").minutes
    )
    lab = counted(tmp_path / "counted", TOP + optional + last, *texts)
    assert (lab.todos, lab.written, lab.checks, lab.runs, lab.printed) == (0, 0, 0, 0, 1)
    assert lab.words == 10  # marks of headings included


def test_what_cells_print_is_read_and_a_listing_is_read_like_code(tmp_path):
    listing = code("print(inspect.getsource(f))")
    lab = counted(tmp_path, TOP + code("print(1)") + listing, "a\n\nb\n", "def f():\n    pass\n")
    assert (lab.printed, lab.listed) == (2, 2)
    assert PRINTED_PER_MINUTE > LINES_PER_MINUTE
