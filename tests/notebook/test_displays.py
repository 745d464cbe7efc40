"""The line that a cell and a terminal show while checks run."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from support import solutions
from support.cells import RunCell

pytestmark = pytest.mark.slow

LAB, EXERCISE = "08_scaling", "efficiency"


def test_a_cell_says_which_check_runs_and_nothing_of_it_stays(
    cell: RunCell, labs: Path, shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    solutions.write(LAB, labs / "src")
    shown = []
    monkeypatch.setattr(
        shell.display_pub, "publish", lambda data, **_: shown.append(data["text/html"])
    )
    assert cell(f"report = %check {EXERCISE}\nreport").result.ok
    assert shown[0] == shown[-1] == ""
    assert any(f"{EXERCISE}: check 1 of " in html for html in shown[1:-1])


@pytest.mark.rest
def test_a_terminal_says_so_too_and_a_pipe_does_not(labs: Path) -> None:
    solutions.write(LAB, labs / "src")
    command = [sys.executable, "-m", "course", "check", "--src", "src", EXERCISE]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert piped.stderr == ""
    terminal, end = pty.openpty()
    on_terminal = subprocess.run(command, stdout=subprocess.PIPE, stderr=end, text=True, check=True)
    os.close(end)
    output = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert f"{EXERCISE}: check 1 of " in output and output.endswith("\r\x1b[K")
    assert on_terminal.stdout == piped.stdout
