"""``python -m course``: each command is found, and gets its own arguments."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from course import commands
from course.__main__ import COMMANDS, OTHERS, QUESTIONS, main
from course.core import ROOT
from course.diagnostics import terminal

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# The program `course` that pip writes into an environment.
PROGRAM = "import sys; from {} import {}; sys.exit({}())"


def test_every_other_command_is_a_file_of_the_package():
    files = {path.stem for path in Path(commands.__file__).parent.glob("[!_]*.py")}
    assert set(OTHERS) == {name for name in files if name.partition("_")[0] == name}
    assert {name.partition("_")[0] for name in files} == set(OTHERS)  # report_scripts is report's


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_gets_its_arguments(monkeypatch, name):
    received = []

    def command(argv):
        received.append(argv)
        return 3

    if name in QUESTIONS:
        monkeypatch.setattr(terminal, name, command)
    else:
        module = SimpleNamespace(main=command)
        monkeypatch.setitem(sys.modules, f"course.commands.{name}", module)
    assert main([name, "--help", "x"]) == 3
    assert received == [["--help", "x"]]


@pytest.mark.parametrize("argv", [[], ["-h"], ["--help"]])
def test_an_overview_begins_with_the_questions(argv, capsys):
    assert main(argv) == 0
    shown = capsys.readouterr().out
    listed = [line.split()[0] for line in shown.splitlines() if line.startswith("  ")]
    assert listed == list(COMMANDS) and listed[:4] == ["run", "why", "right", "fit"]


def test_a_command_that_does_not_exist_is_one_sentence(capsys):
    assert main(["wy", "--", "train.py"]) == 2
    assert "Unknown command 'wy'. Commands: run, why, " in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_sign_that_the_terminal_does_not_have_ends_no_command(encoding):
    command = "SimpleNamespace(main=lambda argv: print('✓ holds'))"
    code = f"""if True:
        import sys
        from types import SimpleNamespace
        from course.__main__ import run
        sys.modules["course.commands.page"] = {command}
        sys.argv = ["course", "page"]
        sys.exit(run())
    """
    env = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "? holds\n", "")


@pytest.fixture
def checkout(tmp_path):
    """A learner's folder whose files have the names of modules that commands import."""
    for name in ("course", "argparse", "pip", "json"):
        (tmp_path / f"{name}.py").write_text("open('taken', 'w')\n")
    return tmp_path


def starts_in(folder, *command):
    """Run a command in a folder; return whether it was the course's own."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return "usage:" in done.stdout.lower() and not (folder / "taken").exists()


def test_the_program_imports_nothing_from_where_it_is_started(checkout, tmp_path_factory):
    module, _, function = PROJECT["scripts"]["course"].partition(":")
    program = tmp_path_factory.mktemp("bin") / "course"
    program.write_text(PROGRAM.format(module, function, function))
    assert starts_in(checkout, sys.executable, str(program), "--help")
    assert not starts_in(checkout, sys.executable, "-m", "course", "--help")  # as Python does
