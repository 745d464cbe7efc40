"""A notebook that was opened in an unusual way runs in its own folder, or says what to do."""

from pathlib import Path

import pytest
from support.disks import mounted

from course.notebook import working_folder

NOTEBOOK = "__vsc_ipynb_file__"  # the variable of Visual Studio Code


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a course, with two notebooks."""
    for folder in ("labs", "solutions"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "start.ipynb").write_text("{}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_beside_the_notebook_nothing_is_said(root: Path, monkeypatch, capsys) -> None:
    for folder in ("labs", "solutions"):
        monkeypatch.chdir(root / folder)
        for names in ({}, {NOTEBOOK: str(root / folder / "start.ipynb")}):
            working_folder.enter(names)
            assert Path.cwd() == root / folder and capsys.readouterr().out == ""


def test_where_the_editor_tells_the_notebook_its_folder_is_taken(root: Path, capsys) -> None:
    working_folder.enter({NOTEBOOK: str(root / "solutions" / "start.ipynb")})
    assert Path.cwd() == root / "solutions"
    sentence = f"The working folder is now that of the notebook: {root / 'solutions'}\n"
    assert capsys.readouterr().out == sentence


@pytest.mark.parametrize("notebook", [None, "", "labs/start.ipynb", "/gone/away.ipynb"])
def test_in_the_folder_of_the_course_a_sentence_says_what_to_do(
    root: Path, capsys, notebook: str | None
) -> None:
    working_folder.enter({} if notebook is None else {NOTEBOOK: notebook})
    assert Path.cwd() == root
    assert "Run `%cd labs` (or `%cd solutions`" in capsys.readouterr().out


def test_any_other_folder_will_do(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    working_folder.enter({})
    assert Path.cwd() == tmp_path and capsys.readouterr().out == ""


def test_a_folder_where_nothing_can_be_written_is_said(tmp_path: Path, monkeypatch, capsys) -> None:
    with mounted(tmp_path / "labs", "ro"):
        monkeypatch.chdir(tmp_path / "labs")
        working_folder.enter({})
        monkeypatch.chdir(tmp_path)
    output = capsys.readouterr().out
    assert output.startswith(f"The folder {tmp_path / 'labs'} is read-only, ") and "copy" in output
