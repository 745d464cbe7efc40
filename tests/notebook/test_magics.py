"""The magics in an IPython shell: what a cell shows, when it fails, and with which message."""

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.cells import RunCell, refused
from support.launching import clean_environment
from support.patience import PATIENCE_S, until
from support.scripts import COUNT, TODO

from course import hardware
from course.core import CourseError
from course.diagnostics.run.patience import Patience

pytestmark = pytest.mark.slow

NO_SCRIPT = "There is no script src/none.py in"


def test_torchrun(cell: RunCell, labs: Path) -> None:
    (labs / "src" / "count.py").write_text(COUNT)
    ran = cell("run = %torchrun --standalone --nproc-per-node 2 src/count.py\nrun")
    assert ran.result.ok and ran.result.exit_codes == {0: 0, 1: 0}
    lines = [line for line in ran.shown.splitlines() if "│" in line]
    assert sorted(lines) == ["rank 0 │ 0 of 2", "rank 1 │ 1 of 2"]
    summary = "<Run: torchrun --standalone --nproc-per-node 2 src/count.py: 2 ranks, ok, "
    assert summary in repr(ran.result)


def test_python(cell: RunCell, labs: Path) -> None:
    (labs / "src" / "count.py").write_text(COUNT)
    ran = cell("%python src/count.py --flag")
    assert ran.result.ok and "0 of 1" in ran.shown.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="ranks are forked on Linux")
def test_the_process_of_a_cell_begins_with_torch_in_memory(cell: RunCell, labs: Path) -> None:
    (labs / "src" / "held.py").write_text("import sys; print('torch' in sys.modules)")
    run = "run = %python src/held.py\nrun"
    until(lambda: cell(run).result.text(0, "stdout") == "True", every=0.5)  # the server begins, too


@pytest.mark.parametrize(
    "flags", ["--num_processes 2", "--cpu --num_processes 2", "--multi_gpu --num_processes 2"]
)
def test_accelerate_runs_the_ranks_asked_for(cell: RunCell, labs: Path, flags: str) -> None:
    if hardware.gpu_count():
        pytest.skip("this machine has a GPU")
    (labs / "src" / "ask.py").write_text(
        "import sys\nfrom accelerate import Accelerator\na = Accelerator()\n"
        "print(a.process_index, a.num_processes, a.device.type, sys.argv[1:])\n"
        "a.wait_for_everyone()\n"  # a rank that ends while another joins makes that one fail
    )
    ran = cell(f"%accelerate launch {flags} src/ask.py --cpu 'two words'")
    assert ran.result.ok and sorted(ran.result.exit_codes) == [0, 1]
    for rank in (0, 1):
        assert ran.result.text(rank, "stdout") == f"{rank} 2 cpu ['--cpu', 'two words']"
    assert "in a terminal: ACCELERATE_USE_CPU=1 accelerate launch --multi_gpu" in ran.shown
    assert "src/ask.py --cpu 'two words'" in ran.shown


def test_line_for_the_terminal_does_what_it_says(cell: RunCell, labs: Path) -> None:
    """The command that the note of `%accelerate` gives runs two ranks in a real shell."""
    if hardware.gpu_count():
        pytest.skip("this machine has a GPU")
    (labs / "src" / "count.py").write_text(COUNT)
    ran = cell("%accelerate launch --cpu --num_processes 2 src/count.py")
    command = ran.shown.partition("in a terminal: ")[2].splitlines()[0]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        env=clean_environment() | {"PATH": path},
        capture_output=True,
        text=True,
    )
    assert sorted(done.stdout.splitlines()) == ["0 of 2", "1 of 2"], done.stderr


def test_accelerate_with_one_process(cell: RunCell, labs: Path) -> None:
    (labs / "src" / "count.py").write_text(COUNT)
    assert "0 of 1" in cell("%accelerate launch --cpu --num_processes 1 src/count.py").shown


@pytest.fixture
def pictures(labs: Path, monkeypatch: pytest.MonkeyPatch) -> list:
    """The pictures that are drawn of the run, in order; the first one also makes a file `drawn`."""
    pictures = []

    class Handle:
        def update(self, picture: object, **_: object) -> None:
            pictures.append(picture)

    def display(picture: object, **_: object) -> Handle:
        pictures.append(picture)
        (labs / "drawn").touch()
        return Handle()

    monkeypatch.setattr("course.notebook.displays.display", display)
    return pictures


def test_progress_bar_is_a_picture_until_it_ends(cell: RunCell, labs: Path, pictures: list) -> None:
    (labs / "src" / "bar.py").write_text(
        "import os, sys, time\n"
        "sys.stdout.write('\\r1 of 3'); sys.stdout.flush()\n"
        "while not os.path.exists('drawn'): time.sleep(0.02)\n"
        "print('\\r3 of 3')\n"
    )
    ran = cell("%python src/bar.py")
    assert "rank 0: 1 of 3" in pictures[0] and pictures[-1] == {"text/plain": ""}
    assert ran.shown.splitlines()[0].strip() == "3 of 3"


def test_the_curves_of_a_run_that_went_well_end_at_its_last_step(
    cell: RunCell, labs: Path, pictures: list
) -> None:
    script = labs / "src" / "steps.py"
    logs = "from course import log\nfor step in (10, 20):\n    log(step=step, steps=24, a=1)\n"
    for end, title in (("", "All 24 steps: a 1"), ("raise SystemExit(1)", "Step 20 of 24: a 1")):
        script.write_text(logs + end)
        cell("%python src/steps.py")
        assert pictures[-1].alt.startswith(title)


def test_open_todo_is_one_calm_line(cell: RunCell, labs: Path) -> None:
    (labs / "src" / "mine.py").write_text(TODO)
    for magic in ("%torchrun --standalone --nproc-per-node 2 src/mine.py", "%python src/mine.py"):
        ran = cell(magic)
        assert ran.error is None and not ran.result.ok
        assert (
            "Still to write in mine.py: TODO 2: average over the ranks. TODO 3: do it in place. "
            "Then run this cell again."
        ) in ran.shown.splitlines()
        assert "Traceback" not in ran.shown and "NotImplementedError" not in ran.shown


def test_open_todo_of_a_sibling(cell: RunCell, labs: Path) -> None:
    (labs / "src" / "mine.py").write_text(TODO.replace("\naverage(1)", ""))
    (labs / "src" / "use.py").write_text("import mine\nmine.average(1)\n")
    ran = cell("%python src/use.py")
    assert ran.error is None and ran.shown.startswith("Still to write in mine.py: TODO 2")


def test_other_error_with_an_open_todo_is_an_error(cell: RunCell, labs: Path) -> None:
    (labs / "src" / "mine.py").write_text(TODO.replace("average(1)", "1 / 0"))
    ran = cell("%python src/mine.py")
    assert isinstance(ran.error, CourseError) and "ZeroDivisionError" in ran.shown


def test_failing_script_fails_the_cell(cell: RunCell, labs: Path) -> None:
    (labs / "src" / "fails.py").write_text("def f():\n    raise ValueError('no')\nf()\n")
    ran = cell("%torchrun --standalone --nproc-per-node 2 src/fails.py")
    assert str(ran.error) == (
        "torchrun --standalone --nproc-per-node 2 src/fails.py failed; the message above says why."
    )
    ended = r"\((exit code 1|ended by the launcher)\)"  # whether the other had ended before
    assert re.search(rf"Rank [01] failed first {ended}:\nTraceback \(most recent", ran.shown)
    assert 'src/fails.py", line 2, in f' in ran.shown
    assert "course/" not in ran.shown and "elastic" not in ran.shown
    assert ran.shown.rstrip().endswith(str(ran.error))


def test_time_limit(cell: RunCell, labs: Path) -> None:
    (labs / "src" / "slow.py").write_text("import time\ntime.sleep(900)\n")
    stood = "Where the ranks stood:\n  rank 0 sleeps at slow.py:2   time.sleep(900)"
    limit, shown = 0.75, ""
    while stood not in shown and limit < PATIENCE_S:  # on a busy machine the rank starts later
        limit *= 2
        ran = cell(f"%timeout {limit} python src/slow.py")
        shown = ran.shown
        assert ran.error is None and ran.result.reason == "limit"
        assert f"The limit of {limit:g} s ended the run." in shown
    assert "No rank has moved for" in shown and stood in shown


def test_a_run_without_a_limit_is_told_when_it_hangs(
    cell: RunCell, labs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course.diagnostics.run.patience.WARN_AFTER_S", 2.0)
    os.mkfifo("go")
    (labs / "src" / "slow.py").write_text("open('go').read()\n")
    warn = Patience._warn

    def warn_and_go_on(self: Patience, stalled_s: float) -> None:
        warn(self, stalled_s)
        if self._has_warned:
            with contextlib.suppress(OSError):  # the script has gone on already
                os.close(os.open("go", os.O_WRONLY | os.O_NONBLOCK))

    monkeypatch.setattr(Patience, "_warn", warn_and_go_on)
    ran = cell("%python src/slow.py")
    assert ran.result.ok
    assert re.search(
        r"No rank has moved for \d+ s. The run is ended when none has for 300 s", ran.shown
    )


@pytest.mark.parametrize(
    "line",
    ["", "soon python x.py", "-1 python x.py", "0 python x.py", "5", "nan python x.py"],
)
def test_time_limit_that_makes_no_sense(cell: RunCell, line: str) -> None:
    assert refused(cell(f"%timeout {line}")).startswith("%timeout takes seconds and a command")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("%torchrun --standalone --nproc-per-node 2 src/none.py", NO_SCRIPT),
        ("%python src/none.py", NO_SCRIPT),
        ("%python", "%python runs a script"),
        ("%torchrun --nproc-per-nod 2 --no-such-flag src/none.py", "torchrun: error: "),
        ("%torchrun", "torchrun: error: "),
        ("%timeout 5 ls", "A launch in a notebook begins with one of torchrun,"),
        ("%why srun train.py", "A launch in a notebook begins with one of torchrun,"),
        ("%torchrun 'src/none.py", "The command cannot be read: no closing quotation in"),
        ("%accelerate launch --cpu src/none.py", NO_SCRIPT),
        ("%accelerate lunch src/none.py", "invalid choice"),
    ],
)
def test_what_cannot_start(cell: RunCell, line: str, sentence: str) -> None:
    ran = cell(line)
    assert refused(ran)
    first = ran.shown.splitlines()[0]
    assert sentence in first
    assert len(ran.shown.splitlines()) <= 2
