"""The scripts of the lessons, written without running anything."""

import pytest
from support.lesson_samples import FIGURES

from course.lessons.rules import select
from course.lessons.scripts import write_scripts

pytestmark = [pytest.mark.slow, pytest.mark.rest]


def test_scripts_are_what_the_cells_write_and_nothing_else_is_touched(finished, copied):
    built_files = {path: path.read_bytes() for path in copied.rglob("*.ipynb")}
    write_scripts(copied, select(copied, [], FIGURES, checks=set()))
    written, run = (root / "solutions" / "src" / "adding.py" for root in (copied, finished))
    assert written.read_bytes() == run.read_bytes()
    lab = (copied / "labs" / "src" / "adding.py").read_text()
    assert 'raise NotImplementedError("TODO 2: one addition")' in lab
    assert {path: path.read_bytes() for path in built_files} == built_files


def test_scripts_that_were_changed_are_kept(copied, capsys):
    chosen = select(copied, [], FIGURES, checks=set())
    src = copied / "labs" / "src"
    src.mkdir(exist_ok=True)
    (src / "adding.py").write_bytes(b"mine = 1  # \xe4\n")
    write_scripts(copied, chosen)
    [kept] = (src / "kept").iterdir()
    assert kept.read_bytes() == b"mine = 1  # \xe4\n"
    assert "TODO 2" in (src / "adding.py").read_text()
    said = capsys.readouterr().out
    assert "labs/src/adding.py differed" in said and f"labs/src/kept/{kept.name}" in said
    write_scripts(copied, chosen)
    assert list((src / "kept").iterdir()) == [kept] and capsys.readouterr().out == ""
