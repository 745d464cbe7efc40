"""How much of the busy time of a machine's cores belongs to a process."""

import io
import subprocess
import sys

import pytest

from course.diagnostics.profiling import clocks

COMPUTES = """
import time
while time.process_time() < 0.3:
    pass
print(flush=True)
input()
"""


def test_what_it_has_started_is_its_own() -> None:
    """For example a loader's workers, whether they still run or have ended."""
    usage = clocks.Usage()
    command = [sys.executable, "-c", COMPUTES]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    assert usage.so_far()["cpu_s"] >= 0.25
    child.communicate("\n")
    assert usage.so_far()["cpu_s"] >= 0.25


def test_what_a_hypervisor_gives_to_others_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    stat = "cpu3  100 20 30 4000 500 6 7 800 0 0\n"
    monkeypatch.setattr(clocks, "open", lambda _: io.StringIO(stat), raising=False)
    assert clocks._busy_seconds([3]) == (100 + 20 + 30 + 6 + 7 + 800) / clocks.TICKS


def test_outside_of_linux_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: str) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(clocks, "open", fails, raising=False)
    assert clocks._busy_seconds([3]) is None and clocks.Usage().so_far()["busy_s"] is None


def test_cores_that_the_process_may_not_use_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["cpu  11 0 0 0 0 0 0 0 0 0", *(f"cpu{i} {10**i} 0 0 0 0 0 0 0 0 0" for i in range(3))]
    stat = "\n".join([*lines, "intr 7 1 0"])
    monkeypatch.setattr(clocks, "open", lambda _: io.StringIO(stat), raising=False)
    assert clocks._busy_seconds([0, 2]) == (1 + 100) / clocks.TICKS
