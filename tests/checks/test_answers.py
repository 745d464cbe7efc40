"""The reader of answer files applies every diff exactly, and reports where a file is wrong."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support import mutants, solutions
from support.answers import AnswerError, read

CHECKS = {"ring": {"test_sum", "test_ends"}, "star": {"test_sum"}}
SOLVED = """def ring(flat):
    start(flat)

    wait()
    if flat:
        wait()
    return flat
"""
ONE = """# Wrong answers to the exercises of lab 02

## ring

### It never starts

Named by `test_ends`.

```diff
 def ring(flat):
-    start(flat)

```
"""


def file(folder: Path, text: str) -> Path:
    path = folder / "02_sample.md"
    path.write_text(text)
    return path


def changed(folder: Path, *diff: str) -> str:
    """The solved script after these diff lines of a wrong answer are applied."""
    text = ONE[: ONE.index(" def")] + "\n".join(diff) + "\n```\n"
    return read(file(folder, text), CHECKS)[0].script(SOLVED)


def test_an_answer(tmp_path):
    (answer,) = read(file(tmp_path, ONE), CHECKS)
    assert (answer.lab, answer.exercise, answer.check) == ("02_sample", "ring", "test_ends")
    assert str(answer) == "ring: It never starts"
    assert answer.script(SOLVED) == SOLVED.replace("    start(flat)\n", "")


def test_a_diff_leaves_out_the_marks_of_a_solution(tmp_path):
    marked = SOLVED.replace("    start", "    ### BEGIN SOLUTION hint: Start first.\n    start")
    marked = marked.replace("    return", "    ### END SOLUTION\n    return")
    (answer,) = read(file(tmp_path, ONE), CHECKS)
    assert answer.script(marked) == answer.script(SOLVED)


def test_several_answers_to_several_exercises(tmp_path):
    second = ONE[ONE.index("###") :].replace("It never starts", "Nor this").replace("ends", "sum")
    text = ONE + "\n" + second + "\n## star\n\n" + second
    titles = [(answer.exercise, answer.title) for answer in read(file(tmp_path, text), CHECKS)]
    assert titles == [("ring", "It never starts"), ("ring", "Nor this"), ("star", "Nor this")]


def test_an_answer_that_hangs(tmp_path):
    (hangs,) = read(file(tmp_path, ONE.replace("Named by", "Hangs in")), CHECKS)
    (ends,) = read(file(tmp_path, ONE), CHECKS)
    assert hangs.check == "test_ends" and hangs.hangs and not ends.hangs


def test_an_answer_that_a_hint_warns_of(tmp_path):
    (warned,) = read(file(tmp_path, ONE.replace("`.", '`, warned of by "`start` it".')), CHECKS)
    (other,) = read(file(tmp_path, ONE), CHECKS)
    assert (warned.check, warned.warning, other.warning) == ("test_ends", "`start` it", "")


def test_right_answers_name_no_check(tmp_path):
    right = ONE.replace("# Wrong", "# Right")
    with pytest.raises(AnswerError, match=r"02_sample.md:7: here should be a block of ```diff"):
        read(file(tmp_path, right), CHECKS)
    (answer,) = read(file(tmp_path, right.replace("Named by `test_ends`.", "")), CHECKS)
    assert answer.check == ""


def test_several_hunks_change_several_places(tmp_path):
    text = changed(
        tmp_path, " def ring(flat):", "+    first()", "@@", "+    last()", "     return flat"
    )
    assert text == SOLVED.replace("    start", "    first()\n    start").replace(
        "    return", "    last()\n    return"
    )


@pytest.mark.parametrize(
    ("line", "old", "new", "reason"),
    [
        (1, "Wrong", "Strange", "here should be the title, not '# Strange"),
        (1, "lab 02", "lab 03", "02_sample.md is not of lab 03"),
        (3, "## ring", "## rings", "there is no exercise 'rings'"),
        (5, "## ring", "", "here should be an exercise, `## name`, not '### It never starts'"),
        (5, "### It never starts", "Text", "here should be what an answer does, `### It ...`"),
        (7, "Named by `test_ends`.", "Text", "here should be the check, ``Named by `test_...`.``"),
        (9, "Named by `test_ends`.", "", "here should be the check, ``Named by `test_...`.``"),
        (7, "test_ends", "test_end", "ring has no check 'test_end'"),
        (9, "```diff", "```python", "here should be a block of ```diff, not '```python'"),
        (10, " def", "def", "a line of a diff begins with a space, a minus or a plus"),
        (12, "\n```\n", "\n", "the file ends too early"),
        (10, "-    start", "     start", "a hunk changes something, beside old lines"),
        (10, " def ring(flat):\n-    start(flat)\n\n", "+new\n", "a hunk changes something"),
        (15, "\n\n```\n", "\n\n```\n\nText\n", "here should be an exercise, `## name`, not 'Text'"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, line, old, new, reason):
    assert ONE.count(old) == 1
    with pytest.raises(AnswerError, match=re.escape(f"02_sample.md:{line}: {reason}")):
        read(file(tmp_path, ONE.replace(old, new)), CHECKS)


@pytest.mark.parametrize(
    ("diff", "line", "reason"),
    [
        (["-    stop(flat)"], 10, "this hunk fits 0 times in ring.py, it must fit exactly once"),
        (["-wait()"], 10, "this hunk fits 0 times in ring.py"),
        ([" def ring(flat):", "-    wait()"], 10, "this hunk fits 0 times in ring.py"),
        (
            ["+    again()", "     return flat", "@@", "-    start(flat)"],
            13,
            "this hunk comes before",
        ),
        (["     start(flat)", "-", "@@", "-", "     wait()"], 13, "this hunk comes before the one"),
    ],
)
def test_a_hunk_that_does_not_fit(tmp_path, diff, line, reason):
    with pytest.raises(AnswerError, match=re.escape(f"02_sample.md:{line}: {reason}")):
        changed(tmp_path, *diff)


def test_a_hunk_that_fits_twice(tmp_path):
    twice = SOLVED + SOLVED
    (answer,) = read(file(tmp_path, ONE), CHECKS)
    with pytest.raises(AnswerError, match=r"02_sample.md:10: this hunk fits 2 times in ring.py"):
        answer.script(twice)


@pytest.mark.parametrize("path", mutants.FILES, ids=lambda path: path.stem)
def test_the_mutants_of_a_lab_fit_its_scripts(path):
    for mutant in mutants.read(path):
        solved = solutions.scripts(mutant.lab)[f"{mutant.exercise}.py"]
        assert mutant.script(solved) != replace(mutant, hunks=[]).script(solved)
