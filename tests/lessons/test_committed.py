"""The committed lessons and notebooks are current, finished, and free of this machine's paths."""

import nbformat

from course.__main__ import main
from course.core.files import ROOT
from course.core.lesson_marks import GUESS
from course.notebook.guess_form import STORED


def test_what_is_committed_is_what_the_lessons_build():
    assert main(["build", "--check"]) == 0


def test_no_solution_names_a_file_of_the_machine_that_ran_it():
    texts = {path.name: path.read_text() for path in (ROOT / "solutions").glob("*.ipynb")}
    assert texts and not [name for name, text in texts.items() if r"File \"/" in text]


def test_each_guess_in_a_solution_has_its_answer():
    """The form shows the answer, folded, once `it_was` has run."""
    unanswered, asked = [], 0
    for path in (ROOT / "solutions").glob("*.ipynb"):
        for cell in nbformat.read(path, 4).cells:
            if cell.cell_type == "code" and (question := GUESS.match(cell.source)):
                asked += 1
                shown = [output.get("data", {}).get("text/html", "") for output in cell.outputs]
                if not any(STORED in form for form in shown):
                    unanswered.append(f"{path.name}: {question[1]}")
    assert asked and unanswered == []
