"""Help for anyone who is stuck: fuller hints, a solution after a warning, a fresh start, a diff."""

from pathlib import Path

import pytest
from support.cells import RunCell, refused
from support.disks import mounted

from course.core import ROOT, lesson_marks, todo
from course.exercises import Exercise, exercise, exercises
from course.lessons import labs, read_hints

RING = "ring"  # of lab 02: TODO 3 to 6


def blank(name: str = RING) -> str:
    return exercise(name).script(solved=False)


def hints(name: str = RING) -> list[str]:
    return read_hints(ROOT)[name]


def test_every_todo_has_a_fuller_hint_that_says_more_and_is_no_code(tmp_path: Path) -> None:
    assert list(read_hints(ROOT)) == list(exercises())
    for lab in labs(ROOT):
        handed_out, solved = lab.scripts(solved=False), lab.scripts(solved=True)
        for name in lab.exercises:
            (tmp_path / "script.py").write_text(handed_out[f"src/{name}.py"])
            short = todo.open_todos(tmp_path / "script.py")
            lines = [line.strip() for line in solved[f"src/{name}.py"].splitlines()]
            long = [line for line in lines if len(line) > 45]
            for hint, fuller in zip(short, hints(name), strict=True):
                assert len(fuller) > len(hint), (name, hint)
                assert "```" not in fuller and not [line for line in long if line in fuller]


def test_an_edition_without_solutions_has_hints_and_says_so(
    cell: RunCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_out = Exercise.script
    monkeypatch.setattr(Exercise, "script", lambda self, solved: handed_out(self, solved=False))
    assert cell("%hint ring 4").result.text.startswith(f"**TODO 4.** {hints()[1]}")
    assert refused(cell("%solution ring --show")).startswith("This edition of the course has no")


def test_a_hint_is_for_the_first_todo_that_is_open(cell: RunCell, labs: Path) -> None:
    script, third, fifth = labs / "src" / "ring.py", hints()[0], hints()[2]
    script.write_text(blank())
    shown = cell("%hint ring").result.text
    assert shown.startswith(f"**TODO 3.** {third}\n")
    assert shown.endswith("For another TODO: `%hint ring 4`, `%hint ring 5` or `%hint ring 6`.")
    text = script.read_text().replace('raise NotImplementedError("TODO 3', 'print("')
    script.write_text(text.replace('raise NotImplementedError("TODO 4', 'print("'))
    assert cell("%hint ring").result.text.startswith(f"**TODO 5.** {fifth}")
    assert cell("%hint ring 3").result.text.startswith(f"**TODO 3.** {third}")


def test_where_no_todo_is_open_all_hints_are_there(cell: RunCell, labs: Path) -> None:
    (labs / "src" / "ring.py").write_text("answer = 42\n")
    for script in ("written", "missing"):
        text = cell("%hint ring").result.text
        assert all(hint in text for hint in hints()) and "another" not in text, script
        (labs / "src" / "ring.py").unlink(missing_ok=True)


def test_the_solution_comes_after_a_warning(cell: RunCell) -> None:
    warned = cell("%solution ring").result.text
    assert "`%hint ring`" in warned and warned.endswith("`%solution ring --show`")
    assert "dist." not in warned
    shown = cell("%solution ring --show").result
    code = shown.text.partition("```python\n")[2].partition("\n```")[0]
    assert "SOLUTION" not in code and "NotImplementedError" not in code
    compile(code, "ring.py", "exec")
    solved = exercise(RING).script(solved=True).splitlines()
    assert set(solved) - set(code.splitlines()) <= {line for line in solved if "SOLUTION" in line}
    assert "`solutions/02_all_reduce.ipynb`" in shown.text
    assert shown._repr_markdown_() == repr(shown) == shown.text


def test_a_reset_keeps_the_learners_version_and_offers_the_blank_cell(
    cell: RunCell, labs: Path, shell
) -> None:
    script = labs / "src" / "ring.py"
    script.write_text("mine = 1\n")
    lines = cell("%reset ring").shown.splitlines()
    assert lines[0] == "src/ring.py is as it was handed out, with its TODOs open."
    [backup] = (labs / "src" / "kept").iterdir()
    assert lines[1] == f"Your version is kept: src/kept/{backup.name}"
    assert backup.read_text() == "mine = 1\n" and script.read_text() == blank()
    offered = shell.rl_next_input
    assert lesson_marks.WRITES.match(offered)[1] == "src/ring.py"
    script.unlink()
    cell(offered)
    assert script.read_text() == blank()
    for again in ("nothing was changed", "there is no script"):
        assert "Your version" not in cell("%reset ring").shown, again
        script.unlink()
    assert [path.name for path in (labs / "src" / "kept").iterdir()] == [backup.name]


def test_a_reset_that_cannot_keep_your_version_leaves_it_where_it_is(
    cell: RunCell, labs: Path
) -> None:
    with mounted(labs / "src", "size=64k"):
        script = labs / "src" / "ring.py"
        script.write_text("x = 1\n" * 10_900)
        sentence = refused(cell("%reset ring"))
        message = (
            "src/ring.py cannot be put back: No space left on device. Your version is unharmed."
        )
        assert sentence == message
        assert script.read_text() == "x = 1\n" * 10_900
        assert list((labs / "src" / "kept").iterdir()) == []


def test_a_reset_keeps_bytes_that_are_no_text(cell: RunCell, labs: Path) -> None:
    (labs / "src" / "ring.py").write_bytes(b"# \xe4\n")
    cell("%reset ring")
    [backup] = (labs / "src" / "kept").iterdir()
    assert backup.read_bytes() == b"# \xe4\n"


def test_reset_without_a_name_is_ipythons(cell: RunCell, shell) -> None:
    shell.user_ns["left_over"] = 1
    cell("%reset -f")
    assert "left_over" not in shell.user_ns
    assert cell("%reset rign").error is not None and "left_over" not in shell.user_ns


@pytest.mark.parametrize("magic", ["hint", "solution", "reset", "changes", "check"])
def test_an_unknown_name_is_answered_with_a_similar_one(cell: RunCell, magic: str) -> None:
    sentence = refused(cell(f"%{magic} strat_here"))
    assert sentence == "There is no exercise strat_here. Did you mean start_here?"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("%hint", "%hint takes the name of one exercise"),
        ("%solution --show", "%solution takes the name of one exercise"),
        ("%solution ring ddp", "%solution takes the name of one exercise"),
        ("%changes", "%changes takes the name of one exercise"),
        ("%check", "%check takes the name of one exercise"),
        ("%hint ring 9", "ring has no TODO 9; it has 3, 4, 5, 6."),
        ("%hint ring two", "%hint takes an exercise and the number of a TODO, not two."),
        ("%changes ring", "ring has not passed here yet, so there is nothing to compare with."),
    ],
)
def test_invalid_arguments_raise_one_sentence(cell: RunCell, line: str, sentence: str) -> None:
    assert refused(cell(line)).startswith(sentence)
