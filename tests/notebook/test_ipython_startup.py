"""After a restart of the kernel, a magic of the labs works before the first cell is run again."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel
from support.launching import kernel_environment
from support.patience import PATIENCE_S

from course.commands import lab
from course.notebook.magics import CourseMagics

pytestmark = pytest.mark.slow

IPYTHONS_OWN = {"reset"}  # the course replaces these when it is loaded


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """A function that runs cells in a kernel of `make lab`, and returns their output."""
    env = kernel_environment() | {"IPYTHONDIR": str(tmp_path)}
    manager, client = start_new_kernel(
        kernel_name="python3",
        startup_timeout=PATIENCE_S,
        env=env | lab.environment(env),
        cwd=tmp_path,
    )

    def run(source: str) -> str:
        lines = []

        def note(message: dict) -> None:
            content = message["content"]
            lines.append(content.get("text") or content.get("data", {}).get("text/plain", ""))

        reply = client.execute_interactive(source, output_hook=note, timeout=PATIENCE_S)
        assert reply["content"]["status"] == "ok", reply["content"]
        return "".join(lines)

    yield run
    client.stop_channels()
    manager.shutdown_kernel()


def test_a_magic_loads_the_course_and_says_so_once(run):
    first = run("%solution ring")
    assert first.startswith("The course was not loaded in this kernel; now it is.")
    assert "The solution of `ring` ends" in first
    again = run("%solution ring")
    assert first.endswith(again) and again.startswith("The solution of `ring` ends")
    assert "already loaded" in run("%load_ext course")


def test_a_guess_loads_it_too(run):
    output = run("%%guess growth times\nBy what factor does the time grow?")
    assert output.startswith("The course was not loaded") and output.endswith("A guess.")


def test_the_first_cell_of_a_lab_prints_nothing_and_no_name_is_left_behind(run):
    assert run("%load_ext course") == ""
    left = {"_load_on_first_use", "_NAMES", "_name"}
    assert run(f"print({left} & set(dir()))") == "set()\n"
    assert run("%solution ring").startswith("The solution of `ring` ends")


def test_the_startup_file_lists_every_line_magic_of_the_course():
    names = re.search(r"_NAMES = (\(.*?\))", lab.STARTUP.read_text(), re.DOTALL)[1]
    assert set(ast.literal_eval(names)) == CourseMagics.magics["line"].keys() - IPYTHONS_OWN


def test_python_in_a_terminal_is_unchanged():
    done = subprocess.run(
        [sys.executable, "-i"],
        input="print(sorted(name for name in dir() if not name.startswith('__')))",
        env=os.environ | {"PYTHONSTARTUP": str(lab.STARTUP)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[]\n" and "Error" not in done.stderr


def test_a_startup_file_of_the_learners_own_stays():
    assert lab.environment({})["PYTHONSTARTUP"] == str(lab.STARTUP)
    assert lab.environment({"PYTHONSTARTUP": "/mine.py"})["PYTHONSTARTUP"] == "/mine.py"
