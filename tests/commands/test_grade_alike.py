"""Scripts that are the same program, and scripts that are not."""

from pathlib import Path

import pytest

from course.commands.grading.alike import Group, alike, program
from course.commands.grading.submissions import Submission

BLANK = '"""Mine."""\n\n\ndef double(x):\n    raise NotImplementedError("TODO 1: double it.")\n'
SOLVED = '"""Mine."""\n\n\ndef double(x):\n    ### BEGIN SOLUTION hint: h\n    return 2 * x\n'


def groups(tmp_path: Path, **texts: str) -> list[Group]:
    submissions = []
    for learner, text in texts.items():
        (tmp_path / learner).mkdir()
        (tmp_path / learner / "ring.py").write_text(text)
        submissions.append(Submission(learner, tmp_path / learner))
    return alike(submissions, {"ring": BLANK}, {"ring": SOLVED})


def test_comments_and_blank_space_do_not_make_another_program(tmp_path):
    texts = ["def f(x):\n    return x + x\n", "# mine\ndef f( x ):\n\n    return x+x  # so\n"]
    assert groups(tmp_path, ada=texts[0], bob=texts[1], cyd="def f(x):\n    return x * 2\n") == [
        Group("ring", ("ada", "bob"), renamed=False, lines=2)
    ]


def test_renamed_variables_are_recognized(tmp_path):
    one = "def f(x):\n    total = x\n    for i in range(3):\n        total += i\n    return total\n"
    other = one.replace("total", "s").replace("i ", "k ").replace("+= i", "+= k").replace("x", "y")
    (group,) = groups(tmp_path, ada=one, bob=other)
    assert (group.learners, group.renamed) == (("ada", "bob"), True)


@pytest.mark.parametrize(
    "other",
    [
        "def f(x, y):\n    return y - x\n",  # the names change places, and with them the result
        "def f(x, y):\n    return sum(x, y)\n",  # another function of Python
        "def g(x, y):\n    return x - y\n",
    ],
)
def test_another_program_is_not_the_same(other):
    mine = "def f(x, y):\n    return x - y\n"
    assert program(mine, renamed=True) != program(other, renamed=True)


def test_who_equals_the_published_solution_is_named(tmp_path):
    mine = SOLVED.replace("    ### BEGIN SOLUTION hint: h\n", "")
    assert groups(tmp_path, ada=mine, bob=BLANK, cyd=BLANK) == [
        Group("ring", ("ada", "the published solution"), renamed=False, lines=1)
    ]
