"""All faults of a lesson are reported at once, each with its line."""

from collections.abc import Set
from pathlib import Path

import pytest
from support.lesson_samples import FIGURES, GOOD, HEADER, NEXT, code, course

from course.core.errors import CourseError
from course.lessons import rules
from course.lessons.lesson import lessons
from course.lessons.rules import LessonContext, select


def faults(root: Path, *texts: str, checks: Set[str] = frozenset()) -> list[str]:
    """The faults of lessons in order, each as ``LINE: reason`` without the path."""
    every = lessons(course(root, **{f"n{number}": text for number, text in enumerate(texts)}))
    made = {(root / "labs" / "01_next.ipynb").resolve(), (root / "images" / "sum.svg").resolve()}
    context = LessonContext(root, every, made, checks)
    lines = [line for lesson in every for line in rules.faults(lesson, rules.RULES, context)]
    return [line.partition(".md:")[2] for line in lines]


def script(*lines: str, target: str = "src/a.py") -> str:
    return code(f"%%writefile {target}", f'"""{target}: a script."""', *lines)


def test_a_good_lesson_has_no_fault(tmp_path):
    assert faults(tmp_path, GOOD, NEXT) == []


BLOCK = "### BEGIN SOLUTION hint: h"
BROKEN = {
    "end missing": (code("x = 1", BLOCK, "x = 2"), "12: BEGIN SOLUTION without an END"),
    "begin missing": (code("x = 2", "### END SOLUTION"), "12: END SOLUTION without a BEGIN"),
    "nested": (
        code(BLOCK, BLOCK, "x = 2", "### END SOLUTION"),
        "12: BEGIN SOLUTION inside a solution",
    ),
    "no hint": (
        code("### BEGIN SOLUTION", "x = 2", "### END SOLUTION"),
        "11: a solution without a hint",
    ),
    "empty hint": (
        code("### BEGIN SOLUTION hint: ", "x = 2", "### END SOLUTION"),
        "11: a solution without a hint",
    ),
    "misspelt marker": (code("## begin solution", "x = 2", "### END SOLUTION"), "11: not a marker"),
    "marker in prose": (
        code("1") + "\n### BEGIN SOLUTION hint: h\n",
        "14: a SOLUTION marker outside a code cell",
    ),
    "unknown tag": (code(":tags: [nbval-skip]", "", "1"), "13: unknown tag 'nbval-skip'"),
    "unknown option": (code(":name: x", "", "1"), "13: unknown cell option 'name'"),
    "unknown magic": (code("x = 1", "%time f()"), "12: unknown magic %time"),
    "unknown cell magic": (code("%%bash", "ls"), "11: unknown magic %bash"),
    "unknown magic in a function": (
        code("def f():", "    y = %pip list"),
        "12: unknown magic %pip",
    ),
    "guess without an answer": (
        code(":tags: [nbval-ignore-output]", "", "%%guess growth times", "How much?"),
        "13: nothing answers the guess: show it by `it_was('growth', ...)`",
    ),
    "answer without a guess": (
        code("it_was('growth', 3)"),
        "11: no cell above asks for the guess 'growth'",
    ),
    "compared guess": (
        code("%%guess growth times", "How much?"),
        "11: a cell that shows a guess has the tag nbval-ignore-output",
    ),
    "script elsewhere": (
        code("%%writefile other/a.py", '"""other/a.py: x"""'),
        "11: a script is written to src/NAME.py",
    ),
    "script appended": (
        code("%%writefile -a src/a.py", "x = 1"),
        "11: a script is written to src/NAME.py",
    ),
    "docstring": (
        code("%%writefile src/a.py", '"""Adds."""'),
        "12: the docstring of a script begins with its path",
    ),
    "no docstring": (
        code("%%writefile src/a.py", "x = 1"),
        "12: the docstring of a script begins with its path",
    ),
    "no title": (HEADER + "Prose.\n", "8: a lesson begins with its title"),
    "title not first": (
        code("1").replace("# Title\n", "Prose.\n\n# Title\n"),
        "8: a lesson begins with its title",
    ),
    "invalid script": (script("x = (1"), "13: not valid Python"),
    "invalid cell": (code("x = 1", "y = = 2"), "12: not valid Python"),
    "invalid once blank": (
        script("x = [", BLOCK, "1,", "### END SOLUTION", "]"),
        "14: not valid Python once its solution is a TODO",
    ),
    "dead link": (
        HEADER + "# Title\n\nSee\n[this](../nowhere.md).\n",
        "11: ../nowhere.md does not exist",
    ),
    "dead figure": (
        HEADER + "# Title\n\n| a |\n|---|\n| ![x](../images/no.svg) |\n",
        "12: ../images/no.svg does not",
    ),
    "dead figure in html": (
        HEADER + '# Title\n\n<img src="no.png">\n',
        "10: no.png does not exist",
    ),
    "path of a machine": (
        HEADER + "# Title\n\n[this](/etc/hosts)\n",
        "10: /etc/hosts is a path of one machine",
    ),
    "unknown lab": (
        HEADER + "# Title\n\n[this](07_no.ipynb#part)\n",
        "10: 07_no.ipynb does not exist",
    ),
    "unclosed cell": (
        code("x = 1").replace("x = 1\n```", "x = 1\n\n```{code-cell}\n1\n```"),
        "13: this cell stands inside",
    ),
    "cell in a list": (
        HEADER + "# Title\n\n- item\n\n  ```{code-cell}\n  1\n  ```\n",
        "12: this cell stands inside",
    ),
    "empty cell": (code(""), "11: an empty code cell"),
    "raw cell": (HEADER + "# Title\n\n```{raw-cell}\nx\n```\n", "11: a raw cell"),
    "same script twice": (
        script("x = 1") + '\n```{code-cell}\n%%writefile src/a.py\n"""src/a.py: x"""\n```\n',
        "17: src/a.py is written by the cell at line 11 already",
    ),
}


@pytest.mark.parametrize(("text", "expected"), BROKEN.values(), ids=BROKEN)
def test_refused_with_line_and_reason(tmp_path, text, expected):
    lines = faults(tmp_path, text)
    assert any(fault.startswith(expected) for fault in lines), lines


def test_two_lessons_may_not_write_one_script(tmp_path):
    assert faults(tmp_path, script("x = 1"), script("x = 2")) == [
        "11: src/a.py is written by lesson 00_n0 already: give this script its own name"
    ]


def test_all_faults_of_a_file_are_told_in_order(tmp_path):
    text = code(":tags: [nope]", "", "%nope", "### BEGIN SOLUTION", "x = 1") + "\n![](no.svg)\n"
    assert [fault.split(":")[0] for fault in faults(tmp_path, text)] == [
        "13",
        "13",
        "14",
        "14",
        "18",
    ]


def test_checks_are_known_by_name(tmp_path):
    text = code("%check ring", "%check rign")
    assert faults(tmp_path, text, checks={"ring", "buckets"}) == [
        "12: no check is called 'rign': known are buckets, ring"
    ]


def test_percent_signs_that_are_no_magic(tmp_path):
    assert faults(tmp_path, code("x = (7", "  %2)", 'print("""', "%nope", '""" % ())')) == []


def test_links_that_are_fine(tmp_path):
    (tmp_path / "README.md").write_text("")
    links = (
        "[a](https://pytorch.org) [b](#part) [c](../README.md?x#y) [d](mailto:a@b.c) "
        "`[e](no.md)` [f](01_next.ipynb)"
    )
    assert faults(tmp_path, HEADER + f"# Title\n\n{links}\n") == []


def test_an_unknown_name_lists_the_lessons(finished):
    with pytest.raises(
        CourseError, match=r"^No lesson is called 7_x; the lessons are: 00_adding, 01_next, "
    ):
        select(finished, ["7_x"], FIGURES, checks=set())


def test_faults_of_the_wanted_lessons_refuse_the_build(tmp_path):
    root = course(tmp_path, adding=GOOD, next=NEXT + "\n[x](no.md)\n")
    assert [lesson.name for lesson in select(root, ["00_adding"], FIGURES, checks=set())] == [
        "00_adding"
    ]
    with pytest.raises(CourseError, match=r"^course/lessons/01_next\.md:14: no\.md does not exist"):
        select(root, [], FIGURES, checks=set())
    with pytest.raises(CourseError, match=r"sum\.svg does not exist"):
        select(root, ["00_adding"], {}, checks=set())
