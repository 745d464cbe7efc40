"""``python -m course kit``: editions without and with solutions, and graders that use them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from support.launching import clean_environment
from support.shapes import shapes

from course.__main__ import main
from course.commands.handouts.students import FILES, FOLDERS, TEXTS, write
from course.commands.web.ring import trial
from course.core import ROOT
from course.core.todo import OPEN
from course.exercises import exercises
from course.lessons import labs, lessons

pytestmark = pytest.mark.slow

LAB = "07b_six_ways"  # its notebook is short
MARKER = "BEGIN SOLUTION"


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The teacher's kit made from this clone."""
    out = tmp_path_factory.mktemp("kit") / "out"
    assert main(["kit", "teacher", str(out)]) == 0
    return out


def code(path: Path) -> list:
    """The code cells of a notebook."""
    return [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]


def test_students_get_no_solution(kit):
    students = kit / "students"
    assert not (students / "solutions").exists() and not (students / "tests").exists()
    files = [path for path in students.rglob("*") if path.suffix in (".md", ".ipynb")]
    assert len(files) > 2 * len(lessons(ROOT))
    solved = [line for lesson in lessons(ROOT) for line in solution_lines(lesson)]
    assert len(solved) > 400
    for path in files:
        text = path.read_text()
        assert MARKER not in text or path.name == "AGENTS.md", path
    blank = {lesson.name: "\n".join(lesson.lines) for lesson in lessons(students)}
    for lesson in lessons(ROOT):
        for line in solution_lines(lesson):
            if "\n".join(lesson.lines).count(line) == 1:  # and occurs only in a solution
                assert line not in blank[lesson.name], (lesson.name, line)


def test_students_do_not_get_what_the_maker_has_kept(tmp_path):
    root, out = tmp_path / "clone", tmp_path / "out"
    kept = root / "labs" / "src" / "kept"
    kept.mkdir(parents=True)
    (kept / "ring-2026-11-20-180000.py").write_text("solved = True\n")
    for name in {*FOLDERS, *FILES, *TEXTS} - {"labs"}:
        (root / name).symlink_to(ROOT / name)
    write(root, [], out)
    assert (out / "labs" / "src").is_dir() and not (out / "labs" / "src" / "kept").exists()


def test_the_students_texts_name_only_what_they_have(kit):
    students = kit / "students"
    for name in ("README.md", "INSTALL.md"):
        text = (students / name).read_text()
        assert "solutions/" not in text
        links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
        assert [link for link in links if not (students / link).is_file()] == []
    rows = re.findall(r"^\| \[\w+\]\(labs/", (students / "README.md").read_text(), re.MULTILINE)
    assert len(rows) == len(labs(ROOT))


@pytest.fixture(scope="module")
def solution_shapes() -> set[str]:
    """The shapes of the statements in solutions that occur in no open script."""
    inside, outside = set(), set()
    for lesson in lessons(ROOT):
        inside.update(*map(shapes, blocks(lesson)))
        outside.update(*map(shapes, lesson.scripts(solved=False).values()))
    return inside - outside


def test_no_code_of_the_students_edition_is_a_solution_under_other_names(kit, solution_shapes):
    files = list((kit / "students").rglob("*.py"))
    assert len(files) > 300 and len(solution_shapes) > 50
    assert [path for path in files if solution_shapes.intersection(shapes(path.read_text()))] == []


def test_a_solution_under_other_names_would_be_seen(solution_shapes):
    assert solution_shapes.intersection(shapes(trial.solved()))


def blocks(lesson) -> list[str]:
    """The texts of a lesson's solutions."""
    marked = re.compile(rf"^ *### {MARKER}.*?\n(.*?)^ *### END SOLUTION", re.MULTILINE | re.DOTALL)
    return marked.findall("\n".join(lesson.lines))


def solution_lines(lesson) -> list[str]:
    """The lines of a lesson's solutions that are long enough to be recognized."""
    lines = "".join(blocks(lesson)).splitlines()
    return [line for line in lines if len(line.strip()) > 12]


def test_the_students_edition_is_the_same_course(kit):
    students = kit / "students"
    for lesson, blank in zip(lessons(ROOT), lessons(students), strict=True):
        assert blank.scripts(solved=True) == lesson.scripts(solved=False)
        lab = f"labs/{lesson.name}.ipynb"
        assert (students / lab).read_bytes() == (ROOT / lab).read_bytes()
    listing = "from course.exercises import exercises; print(*exercises())"
    done = subprocess.run(
        [sys.executable, "-c", listing],
        cwd=students,
        env=clean_environment() | {"PYTHONPATH": str(students)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == list(exercises())


def test_a_folder_that_is_there_is_left_alone(kit, capsys):
    before = sorted(kit.rglob("*"))
    assert main(["kit", "teacher", str(kit)]) == 2
    assert "name a new folder" in capsys.readouterr().err
    assert sorted(kit.rglob("*")) == before


def test_each_exercise_can_be_graded_by_nbgrader(kit):
    notebooks = sorted((kit / "teachers" / "nbgrader" / "source").glob("lab_*/*.ipynb"))
    graded = [
        cell.metadata.nbgrader.grade_id.removeprefix("check-")
        for path in notebooks
        for cell in code(path)
        if cell.metadata.get("nbgrader", {}).get("grade")
    ]
    assert sorted(graded) == sorted(exercises())
    for path in notebooks:
        marked = [cell for cell in code(path) if MARKER in cell.source]
        assert all(cell.metadata.nbgrader.solution for cell in marked), path
        for name in ("glossary.md", *shown(path)):
            assert (path.parent / name).is_file()


def shown(path: Path) -> list[str]:
    """The images in a notebook."""
    text = "".join(cell.source for cell in nbformat.read(path, 4).cells)
    assert "../images" not in text
    return [part.partition(")")[0] for part in text.split("](") if part.startswith("images/")]


@pytest.mark.sampled
def test_nbgrader_makes_an_assignment_and_grades_it(kit, tmp_path):
    pytest.importorskip("nbgrader")
    number = LAB.partition("_")[0]
    name = f"lab_{number}"
    course = shutil.copytree(kit / "teachers" / "nbgrader", tmp_path / "course")
    source = course / "source" / name / f"{LAB}.ipynb"
    keep_what_is_graded(source)
    nbgrader(course, "generate_assignment", name)
    release = course / "release" / name
    opened = [cell.source for cell in code(release / source.name)]
    todos = OPEN.findall("\n".join(opened))
    assert todos and MARKER not in "\n".join(opened)
    assert todos == OPEN.findall("\n".join(cell.source for cell in code(lab(LAB))))
    shutil.copytree(release, course / "submitted" / "open" / name)
    shutil.copytree(source.parent, course / "submitted" / "solved" / name)
    nbgrader(course, "autograde", name)
    nbgrader(course, "export", "--to", "grades.csv")
    rows = [line.split(",") for line in (course / "grades.csv").read_text().splitlines()]
    column = {title: number for number, title in enumerate(rows[0])}
    scores = {row[column["student_id"]]: float(row[column["score"]]) for row in rows[1:]}
    assert scores == {"open": 0.0, "solved": float(rows[1][column["max_score"]])}


def lab(name: str) -> Path:
    return ROOT / "labs" / f"{name}.ipynb"


def keep_what_is_graded(path: Path) -> None:
    """Drop the cells with runs, which take time; keep those that write scripts and check them."""
    node = nbformat.read(path, 4)
    node.cells = [
        cell
        for cell in node.cells
        if cell.cell_type != "code"
        or "nbgrader" in cell.metadata
        or cell.source.startswith("%%writefile")
        or "%load_ext" in cell.source
    ]
    nbformat.write(node, path)


def nbgrader(folder: Path, *words: str) -> None:
    """Run a command of nbgrader in its course folder."""
    env = clean_environment()
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"  # for `alembic`
    command = [sys.executable, "-m", "nbgrader", *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_files_for_gradescope(kit):
    folder = kit / "teachers" / "gradescope"
    text = (folder / "run_autograder").read_text()
    assert "my_ddp" in text and "my_ddp" in exercises()
    assert (folder / "course" / "pyproject.toml").is_file()
    assert (folder / "course" / "course" / "checks").is_dir()
