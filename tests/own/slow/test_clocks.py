"""What is a process's own of the time that the cores of its machine were busy."""

import io
import subprocess
import sys

import pytest

from course.own.profiling import clocks

COMPUTES = """
import time
while time.process_time() < 0.3:
    pass
print(flush=True)
input()
"""


def test_what_it_has_started_is_its_own() -> None:
    """As a loader's workers, whether they live or have ended."""
    usage = clocks.Usage()
    command = [sys.executable, "-c", COMPUTES]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    assert usage.so_far()["cpu_s"] >= 0.25
    child.communicate("\n")
    assert usage.so_far()["cpu_s"] >= 0.25


def test_what_a_hypervisor_gives_to_others_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    stat = "cpu  100 20 30 4000 500 6 7 800 0 0\n"
    monkeypatch.setattr(clocks, "open", lambda _: io.StringIO(stat), raising=False)
    assert clocks._machine_busy() == (100 + 20 + 30 + 6 + 7 + 800) / clocks.TICKS
