"""`course check` in a terminal: an interrupt, and its output for other programs."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support import solutions
from support.patience import until

from course.commands.check import NOT_JUDGED

pytestmark = pytest.mark.slow


HELD = 5


@pytest.fixture
def src(tmp_path: Path) -> Path:
    """The solved scripts of lab 02; ranks that import `ring` stop there the fifth time."""
    folder = tmp_path / "src"
    folder.mkdir()
    solutions.write("02_all_reduce", folder)
    solutions.hold(folder / "ring.py", HELD)
    return folder


def test_an_interrupt_is_no_pass_and_keeps_what_was_judged(src: Path, tmp_path: Path):
    report, points = tmp_path / "told.json", tmp_path / "points.json"
    command = [sys.executable, "-m", "course", "check", "--src", str(src), "ring"]
    command += ["--json", str(report), "--gradescope", str(points)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    known = psutil.Process(process.pid)
    until(lambda: solutions.imported(src / "ring.py") >= HELD)  # in the third check or a later one
    below = known.children(recursive=True)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == NOT_JUDGED
    verdict = json.loads(report.read_text())
    (ring,) = verdict["exercises"]
    assert not verdict["ok"] and not ring["ok"] and not ring["judged"]
    outcomes = [check["outcome"] for check in ring["checks"]]
    held = outcomes.count("passed")
    assert len(outcomes) == ring["asked"] == 12 and 0 < held < 12
    assert outcomes == ["passed"] * held + ["not judged"] * (12 - held)
    assert output.startswith(f"ring: {held} of 12 checks hold, {12 - held} not judged.")
    earned = sum(test["score"] for test in json.loads(points.read_text())["tests"])
    assert earned == pytest.approx(held / 12, abs=1e-3)
    assert not [child for child in below if child.is_running() and child.status() != "zombie"]


def test_a_check_of_a_folder_is_counted_within_its_exercise(tmp_path: Path):
    code = "from pathlib import Path; from course.checks import check_folder; "
    code += f"check_folder(Path({str(tmp_path)!r}), ['ring', 'my_ddp'], announce=print)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    begun = re.findall(r"^(\w+) \(exercise \d of 2\): check (\d+) of (\d+): ", done.stdout, re.M)
    for name in ("ring", "my_ddp"):
        counted = [(int(place), int(of)) for exercise, place, of in begun if exercise == name]
        assert counted and counted == [(n + 1, len(counted)) for n in range(len(counted))]
