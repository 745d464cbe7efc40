"""Without a clone, the labs come with the wheel, and are copied into a folder of the learner's.

JupyterLab trusts only the solutions that are unchanged.
"""

import subprocess
from pathlib import Path

import pytest
from support.clones import git
from support.installed import install_wheel
from support.launching import clean_environment

from course.commands import lab_folder
from course.core import ROOT, CourseError, installed

INSTALLED = """
from pathlib import Path
from course.commands.lab_folder import lab_folder
print(lab_folder(Path.cwd()))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """A separate Python in which the course is installed as a wheel, without its libraries."""
    return install_wheel(tmp_path_factory.mktemp("installed"))


def run(python: Path, folder: Path) -> subprocess.CompletedProcess:
    """Ask an installed course for its folder of labs."""
    command = [str(python), "-c", INSTALLED]
    return subprocess.run(
        command, cwd=folder, env=clean_environment(), capture_output=True, text=True
    )


def test_a_clone_is_its_own_folder(tmp_path):
    assert lab_folder.lab_folder(tmp_path) == ROOT
    assert list(tmp_path.iterdir()) == []


def test_an_installed_course_unpacks_its_labs_and_keeps_what_is_there(python, tmp_path):
    mine = tmp_path / "multi-gpu-course" / "labs" / "02_all_reduce.ipynb"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    done = run(python, tmp_path)
    assert done.stdout.strip() == str(tmp_path / "multi-gpu-course"), done.stderr
    assert mine.read_text() == "mine"
    for kind in ("labs/*.ipynb", "labs/*.md", "solutions/*.ipynb", "images/*"):
        there = {path.name for path in ROOT.glob(kind)}
        assert there and {path.name for path in mine.parents[1].glob(kind)} == there
    assert (mine.parent / "src").is_dir()


def test_the_site_is_no_part_of_an_installed_course(python, tmp_path):
    command = [str(python), "-m", "course", "site"]
    done = subprocess.run(
        command, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is built in a clone" in done.stderr


def test_where_nothing_can_be_written_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(lab_folder, "ROOT", tmp_path)
    notebook = tmp_path / "start.ipynb"
    notebook.write_text("")
    monkeypatch.setattr(installed, "shared_files", lambda: {"labs/start.ipynb": notebook})
    (tmp_path / "file").write_text("")
    with pytest.raises(CourseError, match="Start this command in a folder of your own"):
        lab_folder.lab_folder(tmp_path / "file")


def test_without_labs_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(lab_folder, "ROOT", tmp_path)
    monkeypatch.setattr(installed, "shared_files", dict)
    with pytest.raises(CourseError, match="has no labs: install the course"):
        lab_folder.lab_folder(tmp_path)


def solved(folder: Path) -> Path:
    """Two solutions in a folder; the second is named `changed`."""
    (folder / "solutions").mkdir(parents=True)
    for name in ("same", "changed"):
        (folder / "solutions" / f"{name}.ipynb").write_text("as it came")
    return folder / "solutions"


def test_in_a_clone_solutions_that_git_finds_unchanged_are_listed(tmp_path, monkeypatch, someone):
    monkeypatch.setattr(lab_folder, "ROOT", tmp_path)
    folder = solved(tmp_path)
    assert lab_folder.unchanged_solutions(tmp_path) == []  # it cannot be known
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--message", "A version")
    (folder / "changed.ipynb").write_text("by somebody")
    (folder / "new.ipynb").write_text("by somebody")
    git(tmp_path, "add", ".")
    assert lab_folder.unchanged_solutions(tmp_path) == [folder / "same.ipynb"]


def test_of_a_wheel_solutions_that_equal_the_wheels_are_listed(tmp_path, monkeypatch):
    wheel = solved(tmp_path / "wheel")
    files = {f"solutions/{path.name}": path for path in wheel.iterdir()}
    monkeypatch.setattr(installed, "shared_files", lambda: {"labs/start.ipynb": wheel} | files)
    mine = solved(tmp_path / "mine")
    (mine / "changed.ipynb").write_text("by somebody")
    (mine / "new.ipynb").write_text("by somebody")
    assert lab_folder.unchanged_solutions(mine.parent) == [mine / "same.ipynb"]
