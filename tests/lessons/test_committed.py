"""The lessons and notebooks that are committed: current, finished, free of this machine's paths."""

from course.__main__ import main
from course.core.files import ROOT


def test_what_is_committed_is_what_the_lessons_build():
    assert main(["build", "--check"]) == 0


def test_no_solution_names_a_file_of_the_machine_that_ran_it():
    texts = {path.name: path.read_text() for path in (ROOT / "solutions").glob("*.ipynb")}
    assert texts and not [name for name, text in texts.items() if r"File \"/" in text]
