"""Scripts for a launcher also work as plain `python SCRIPT`, with one rank, or say why not."""

import re

import pytest
from support import solutions
from support.programs import programs

from course.launch import Reason, launch

pytestmark = [pytest.mark.slow, pytest.mark.sampled, pytest.mark.usefixtures("warm_ranks")]

# torch's own answer to a script that only joins a group; lab 00 says what it means.
OF_TORCH = re.compile(r"ValueError: Error initializing .* environment variable RANK expected")
# The course's own of what one rank cannot do
OF_COURSE = re.compile(r"course\.core\.errors\.CourseError: [A-Z].+\.")
OF_ARGPARSE = re.compile(r"\w+\.py: error: [a-z].+")
IN_WORDS = re.compile(r"[A-Z0-9].{15,}\.")
KILLS_ITSELF = "04_ddp_in_practice/doomed.py"
LAUNCHED = sorted(name for name, program in programs().items() if program.launched)
ENOUGH_S = 8.0  # a script that still runs has its world of one
ALONE = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")


@pytest.mark.parametrize(
    "name", [n for n in LAUNCHED if not n.startswith("course/") and n != KILLS_ITSELF]
)
def test_a_script_answers(name, tmp_path, monkeypatch):
    lab, script = name.split("/")
    (tmp_path / "src").mkdir()
    solutions.write(lab, tmp_path / "src")
    monkeypatch.chdir(tmp_path)
    for variable in ALONE:
        monkeypatch.delenv(variable, raising=False)
    run = launch(["python", f"src/{script}"], limit=ENOUGH_S, env={"OMP_NUM_THREADS": "1"})
    if run.ok or run.reason is Reason.LIMIT:
        return
    lines = run.text(0, "stderr").strip().splitlines()
    last = lines[-1]
    in_words = "Traceback" not in "".join(lines) and IN_WORDS.fullmatch(last)
    others = (OF_ARGPARSE, OF_COURSE, OF_TORCH)
    assert in_words or any(words.match(last) for words in others), lines
