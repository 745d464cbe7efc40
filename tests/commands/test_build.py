"""``python -m course build``: its exit codes, and what it says about stale files and faults."""

import pytest
from support.lesson_samples import FIGURES, NAME, rewrite

from course.__main__ import main
from course.commands import build


@pytest.fixture
def command(copied, monkeypatch):
    """Run ``python -m course build`` on a copy of the course."""
    monkeypatch.setattr(build, "ROOT", copied)
    monkeypatch.setattr(build, "figures", lambda: FIGURES)
    monkeypatch.setattr(build.finished, "faults", lambda *_: [])  # they are too small for labs
    return lambda *arguments: main(["build", *arguments])


def test_check_exits_1_where_something_is_stale(command, copied, capsys):
    assert command("--check") == 0
    rewrite(copied / "labs" / "01_next.ipynb", "Next", "Then")
    assert command("--check") == 1
    assert capsys.readouterr().err == "labs/01_next.ipynb is not what its lesson makes\n"
    assert command("--check", NAME) == 0
    for figure in FIGURES:
        (copied / "images" / figure).write_text("drawn by hand")
    assert command("01_next") == 0
    assert command("--check") == 0


def test_bad_names_and_faults_exit_2_with_a_sentence(command, copied, capsys):
    assert command("nine") == 2
    assert "Traceback" not in (error := capsys.readouterr().err) and len(error.splitlines()) == 1
    rewrite(copied / "course" / "lessons" / "01_next.md", "# Next", "Next")
    assert command("--check") == 2
    assert (
        capsys.readouterr().err
        == "course/lessons/01_next.md:8: a lesson begins with its title: `# Title`\n"
    )


def test_scripts_alone_and_failures_exit_codes(command, copied):
    assert command("--scripts", NAME) == 0
    assert (copied / "labs" / "src" / "adding.py").exists()
    rewrite(copied / "course" / "lessons" / "01_next.md", "1 + 1", "1 / 0")
    assert command("01_next") == 1
