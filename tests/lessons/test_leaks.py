"""No line of a solution reaches the lab that learners get."""

import json
import re

import pytest
from support.lesson_samples import GOOD, NAME, course

from course.core.files import ROOT
from course.lessons import lesson as lesson_module
from course.lessons import notebooks

pytestmark = [pytest.mark.slow, pytest.mark.rest]


def leaked(text: str, lab: str) -> list[str]:
    """Solution lines of a lesson that are in its lab's file, found without the builder's code."""
    inside, outside, solving = [], [], False
    for line in text.splitlines():
        if re.search("(BEGIN|END) SOLUTION", line):
            solving = "BEGIN" in line
        else:
            (inside if solving else outside).append(line.strip())
    elsewhere = "\n".join(outside)
    secrets = [line for line in inside if len(line) > 12 and line not in elsewhere]
    return [line for line in secrets if json.dumps(line, ensure_ascii=False)[1:-1] in lab]


def test_the_sample_does_not_leak(finished):
    assert leaked(GOOD, (finished / "labs" / f"{NAME}.ipynb").read_text()) == []


def test_a_builder_that_leaks_would_be_caught(tmp_path, monkeypatch):
    def keep_last_line(source, solutions, first):
        lines = source.splitlines()
        return "\n".join(
            line
            for number, line in enumerate(lines)
            if not any(one.begin <= number < one.end - 1 for one in solutions)
        )

    monkeypatch.setattr(lesson_module, "replace_solutions", keep_last_line)
    [lesson] = lesson_module.lessons(course(tmp_path, adding=GOOD))
    assert leaked(GOOD, notebooks.text(notebooks.notebook(lesson, solved=False))) == [
        "return total_of_both",
        "return add(a, second_summand := a)",
        "third_answer_here = 3",
    ]


LESSONS = sorted((ROOT / "course" / "lessons").glob("[0-9]*.md"))


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_no_solution_reaches_its_lab(path):
    assert leaked(path.read_text(), (ROOT / "labs" / f"{path.stem}.ipynb").read_text()) == []
