"""``python -m course``: each command gets its own arguments, and is a file of the room."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from course import commands
from course.__main__ import COMMANDS, main


def test_every_command_is_a_file_of_the_room():
    files = {path.stem for path in Path(commands.__file__).parent.glob("[!_]*.py")}
    assert set(COMMANDS) == {name for name in files if name.partition("_")[0] == name}
    assert {name.partition("_")[0] for name in files} == set(COMMANDS)  # report_scripts is report's


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_gets_its_arguments(monkeypatch, name):
    seen = []
    command = SimpleNamespace(main=lambda argv: seen.append(argv) or 3)
    monkeypatch.setitem(sys.modules, f"course.commands.{name}", command)
    assert main([name, "--help", "x"]) == 3
    assert seen == [["--help", "x"]]
