"""A build writes what the lessons say, and the same files each time."""

import os
import shutil
import sys

import nbformat
import pytest
from jupyter_client.connect import port_names
from jupyter_client.manager import start_new_kernel
from support import ports
from support.lesson_samples import (
    CHECKED,
    CHECKS,
    FIGURES,
    GOOD,
    HEADER,
    NAME,
    NEXT,
    built,
    code,
    complaints,
    course,
    notebook,
    rewrite,
)
from support.patience import PATIENCE_S

from course.core.files import write_atomically
from course.lessons import lesson as lesson_module
from course.lessons import notebooks
from course.lessons.rules import select

pytestmark = [pytest.mark.slow, pytest.mark.rest]


def test_labs_have_no_outputs_and_solutions_are_run_in_order(finished):
    lab = [cell for cell in notebook(finished, "labs").cells if cell.cell_type == "code"]
    assert {(cell.execution_count, len(cell.outputs)) for cell in lab} == {(None, 0)}
    solution = [cell for cell in notebook(finished, "solutions").cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in solution] == [1, 2, 3, 4]
    assert solution[1].outputs[0].text == "Writing src/adding.py\n"
    assert solution[2].outputs[0].text == "a sum of 2\n"


def test_both_notebooks_have_the_same_cells_tags_and_metadata(finished):
    lab, solution = notebook(finished, "labs"), notebook(finished, "solutions")
    assert [(cell.id, cell.metadata) for cell in lab.cells] == [
        (cell.id, cell.metadata) for cell in solution.cells
    ]
    assert lab.metadata == solution.metadata
    assert lab.metadata.kernelspec.name == "python3"
    assert lab.cells[1].metadata == {"tags": ["nbval-ignore-output"]}


def test_a_second_build_changes_nothing(copied):
    """A build first removes what checks have kept next to the solutions."""
    progress = copied / "solutions" / "src" / "kept" / "ring.json"
    progress.parent.mkdir()
    progress.write_text("{}")
    shutil.copytree(progress.parent, copied / "labs" / "src" / "kept")
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    assert built(copied, NAME, "01_next") == []
    assert not progress.parent.exists()
    assert {path: path.read_bytes() for path in before.keys() - {progress}} == {
        path: content for path, content in before.items() if path != progress
    }


@pytest.mark.parametrize("old", ["a sum of 3", "{"], ids=["other", "not a notebook"])
def test_all_outputs_are_new_where_one_that_is_compared_has_changed(copied, old):
    path = copied / "solutions" / f"{NAME}.ipynb"
    before = path.read_text()
    path.write_text(before.replace("a sum of 2", old) if " " in old else old)
    pids = nbformat.reads(before, 4).cells[1].outputs
    assert built(copied, NAME) == []
    after = notebook(copied, "solutions")
    assert after.cells[1].outputs != pids
    after.cells[1].outputs = pids
    assert notebooks.text(after) == before


def test_only_the_named_lesson_is_built(tmp_path):
    root = course(tmp_path, adding=GOOD, next=NEXT)
    assert built(root, "01_next") == []
    assert sorted(path.name for path in root.rglob("*.ipynb")) == ["01_next.ipynb"] * 2


def test_new_prose_keeps_the_outputs_of_the_last_run(copied):
    outputs = [cell.get("outputs") for cell in notebook(copied, "solutions").cells]
    path = copied / "course" / "lessons" / f"{NAME}.md"
    path.write_text(path.read_text() + "\nOne more sentence.\n")
    assert notebooks.rewrite_prose(copied, lesson_module.lessons(copied)) == []
    assert complaints(copied) == []
    after = notebook(copied, "solutions")
    assert "One more sentence." in after.cells[-1].source
    assert [cell.get("outputs") for cell in after.cells][: len(outputs)] == outputs


def test_no_line_of_prose_ends_before_a_percent_sign(tmp_path):
    prose = "Waits 30 % of it (7 %), `7 % 3`, 2 %check.\n\n```\n5 % 2\n```"
    root = course(tmp_path, adding=GOOD.replace("Now a third one.", prose))
    (lesson,) = lesson_module.lessons(root)
    (made,) = (
        cell.source
        for cell in notebooks.notebook(lesson, solved=False).cells
        if "Waits" in cell.source
    )
    assert made.replace("\N{NO-BREAK SPACE}", "_") == prose.replace("30 %", "30_%").replace(
        "7 %)", "7_%)"
    )


def test_outputs_are_not_kept_for_code_that_did_not_print_them(copied):
    before = (copied / "solutions" / f"{NAME}.ipynb").read_bytes()
    rewrite(copied / "course" / "lessons" / f"{NAME}.md", '"a sum of"', '"the sum of"')
    [failure] = notebooks.rewrite_prose(copied, lesson_module.lessons(copied))
    assert failure == f"{NAME}: its code has changed since it was run: build it"
    assert (copied / "solutions" / f"{NAME}.ipynb").read_bytes() == before


def test_a_question_of_a_guess_is_prose(tmp_path):
    asks = code("%%guess growth times", "How *much* is `x`,", "really?")
    root = course(tmp_path, asking=asks)
    [lesson] = lesson_module.lessons(root)
    solved = notebooks.notebook(lesson, solved=True)
    card = "<div>How <em>much</em> is <code>x</code>, really?</div>It was 3 times."
    solved.cells[1].outputs = [nbformat.v4.new_output("display_data", {"text/html": card})]
    path = root / "solutions" / f"{lesson.name}.ipynb"
    write_atomically(path, notebooks.text(solved))
    rewrite(lesson.path, "How *much* is `x`", "How *large* is `y`")
    assert notebooks.rewrite_prose(root, lesson_module.lessons(root)) == []
    [output] = notebook(root, "solutions", lesson.name).cells[1].outputs
    assert output.data["text/html"] == card.replace("much", "large").replace("x</code>", "y</code>")
    rewrite(lesson.path, "growth times", "growth %")
    [failure] = notebooks.rewrite_prose(root, lesson_module.lessons(root))
    assert "build it" in failure


def test_the_comment_that_a_cell_begins_with_is_prose(copied):
    outputs = [cell.get("outputs") for cell in notebook(copied, "solutions").cells]
    lesson = copied / "course" / "lessons" / f"{NAME}.md"
    rewrite(lesson, "import sys\n", "# The sum\nimport sys\n")
    assert notebooks.rewrite_prose(copied, lesson_module.lessons(copied)) == []
    assert complaints(copied) == []
    assert [cell.get("outputs") for cell in notebook(copied, "solutions").cells] == outputs


def test_figures_are_written(finished):
    assert (finished / "images" / "sum.svg").read_text() == FIGURES["sum.svg"]


def test_of_a_widget_is_stored_what_is_seen_without_a_kernel(finished):
    solution = notebook(finished, "solutions", "02_widget")
    [output] = solution.cells[1].outputs
    assert "value=7" in output.data.pop("text/plain") and not output.data
    assert "widgets" not in solution.metadata


def test_the_paths_of_this_machine_are_not_stored(finished):
    output = notebook(finished, "solutions", "03_elsewhere").cells[1].outputs[0]
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    assert output.data["text/plain"] == f"'./solutions/x …/{python}/os.py'"


def test_no_times_and_no_other_files_are_left(finished):
    assert '"iopub.' not in (finished / "solutions" / f"{NAME}.ipynb").read_text()
    files = {
        path.relative_to(finished).as_posix() for path in finished.rglob("*") if path.is_file()
    }
    names = ("00_adding", "01_next", "02_widget", "03_elsewhere")
    expected = {f"{folder}/{name}.ipynb" for folder in ("labs", "solutions") for name in names}
    made = {name for name in files if not name.startswith("course/")}
    assert made == expected | {"images/sum.svg", "solutions/src/adding.py"}


def _ran(lab: nbformat.NotebookNode) -> None:
    lab.cells[3].source = "mine = 1"
    lab.cells[3].execution_count = 1


def _saved_by_jupyter(lab: nbformat.NotebookNode) -> None:
    lab.cells[0].source += "\n\nMy note."
    lab.metadata.language_info.version = "3.12.3"


@pytest.mark.parametrize("worked", [_ran, _saved_by_jupyter])
def test_a_lab_in_which_somebody_has_worked_is_kept(copied, worked):
    path, lab = copied / "labs" / f"{NAME}.ipynb", notebook(copied, "labs")
    blank = path.read_text()
    worked(lab)
    write_atomically(path, notebooks.text(lab))
    rewrite(copied / "course" / "lessons" / f"{NAME}.md", "Now a third one.", "A third one.")
    for _ in range(2):
        assert notebooks.rewrite_prose(copied, lesson_module.lessons(copied)) == []
    [kept] = (copied / "labs" / "src" / "kept").iterdir()
    assert kept.read_text() == notebooks.text(lab)
    assert path.read_text() == blank.replace("Now a third one.", "A third one.")


def test_a_failing_solution_leaves_the_old_one_and_says_where(copied):
    path = copied / "solutions" / f"{NAME}.ipynb"
    before = path.read_bytes()
    rewrite(copied / "course" / "lessons" / f"{NAME}.md", '"a sum of"', 'int("nine")')
    [failure] = built(copied, NAME)
    line = GOOD.splitlines().index("import sys") + 1
    assert failure.startswith(
        f"solutions/{NAME}.ipynb: the cell at course/lessons/{NAME}.md:{line} failed: ValueError: "
    )
    assert "'nine'" in failure and "\x1b" not in failure and len(failure.splitlines()) < 9
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.glob(".*")] == []


def test_a_kernel_that_dies_is_told(tmp_path):
    root = course(tmp_path, dead=HEADER + "# T\n\n```{code-cell}\nimport os\nos._exit(3)\n```\n")
    assert built(root) == [
        "solutions/00_dead.ipynb: the cell at course/lessons/00_dead.md:11 failed: the kernel died"
    ]


# A kernel that cannot open its ports, at its first `times` starts.
UNLUCKY = """\
import os, pathlib, sys
starts = pathlib.Path({starts!r})
if "ipykernel_launcher" in sys.orig_argv:
    with starts.open("a") as file:
        file.write("x")
    if len(starts.read_text()) <= {times}:
        os._exit(1)
"""


@pytest.mark.parametrize("times", [1, 3])
def test_a_kernel_that_dies_before_its_first_answer_is_started_again(tmp_path, monkeypatch, times):
    starts = tmp_path / "starts"
    (tmp_path / "sitecustomize.py").write_text(UNLUCKY.format(starts=str(starts), times=times))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    root = course(tmp_path, next=NEXT)
    failures = built(root)
    if times == 1:
        assert failures == [] and starts.read_text() == "xx"
        assert notebook(root, "solutions", "00_next").cells[1].outputs[0].data["text/plain"] == "2"
    else:
        assert failures == ["solutions/00_next.ipynb: its kernel died at 3 starts"]
        assert starts.read_text() == "xxx"
        assert not (root / "solutions" / "00_next.ipynb").exists()


def test_a_build_says_which_lesson_runs_and_its_kernel_warns_of_nothing(tmp_path, capfd):
    root, lines = course(tmp_path, next=NEXT), []
    assert notebooks.build(root, select(root, [], FIGURES, checks=CHECKS), lines.append) == []
    assert lines[0] == "00_next: runs, 1 of 1" and lines[1].startswith("00_next: built in")
    assert "WARNING" not in capfd.readouterr().err


def test_kernels_of_tests_have_ports_that_the_system_deals_to_nobody():
    manager, client = start_new_kernel(startup_timeout=PATIENCE_S)
    try:
        dealt = {getattr(manager, name) for name in port_names}
        assert len(dealt) == 5 and dealt <= set(ports.NEVER_ASSIGNED)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_a_solution_that_its_own_checks_reject_is_refused(tmp_path):
    root = course(tmp_path, checked=CHECKED)
    line = CHECKED.splitlines().index("%check my_sum") + 1
    assert built(root) == [
        f"solutions/00_checked.ipynb: the cell at course/lessons/00_checked.md:{line}: "
        "its solution is not right: my_sum: 4 of 5 checks hold."
    ]
    assert not (root / "solutions" / "00_checked.ipynb").exists()


def test_other_lessons_are_built_after_one_that_fails(tmp_path):
    root = course(tmp_path, bad=NEXT.replace("1 + 1", "1 / 0"), next=NEXT)
    assert len(built(root)) == 1
    assert (root / "solutions" / "01_next.ipynb").exists() and not (
        root / "solutions" / "00_bad.ipynb"
    ).exists()
