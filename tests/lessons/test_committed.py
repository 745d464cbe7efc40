"""The lessons and notebooks that are committed: current, linked, free of this machine's paths."""

from itertools import pairwise

from course.__main__ import main
from course.core.files import ROOT
from course.lessons.lesson import lessons


def test_what_is_committed_is_what_the_lessons_build():
    assert main(["build", "--check"]) == 0


def test_every_lab_ends_with_a_link_to_the_next():
    labs = lessons(ROOT)
    for lab, following in pairwise(labs):
        title = following.cells[0].source.partition("\n")[0].removeprefix("# ")
        assert lab.cells[-1].source.endswith(f"\n\nNext: [{title}]({following.name}.ipynb)")


def test_no_solution_names_a_file_of_the_machine_that_ran_it():
    texts = {path.name: path.read_text() for path in (ROOT / "solutions").glob("*.ipynb")}
    assert texts and not [name for name, text in texts.items() if r"File \"/" in text]
