"""The magics, in a shell of IPython's: what a cell shows, when it fails, and in which words."""

import os
import re
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from support.launching import clean_environment
from traitlets.config import Config

from course.core import todo
from course.core.errors import CourseError
from course.hardware import box
from course.launch import launcher

COUNT = """
import os, sys
# One write: in a terminal the ranks share their output, and print makes several writes where Python does not buffer.
sys.stdout.write(f"{os.environ.get('RANK', 0)} of {os.environ.get('WORLD_SIZE', 1)}\\n")
"""
TODO = """
def average(x):
    # TODO 2: average over the ranks
    raise NotImplementedError("TODO 2: average over the ranks")

def later(x):
    # TODO 3: do it in place
    raise NotImplementedError("TODO 3: do it in place")

average(1)
"""


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    shell = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
    shell.run_line_magic("load_ext", "course")
    yield shell


@pytest.fixture(autouse=True)
def labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with an environment in which no test runner has left anything."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ.keys() - clean_environment().keys() - {"COURSE_WARM"}:
        monkeypatch.delenv(name)
    (tmp_path / "src").mkdir()
    return tmp_path


class Cell:
    """A cell that has run: what it showed and its result."""

    def __init__(self, result: ExecutionResult, shown: str) -> None:
        self.result, self.error, self.shown = (
            result.result,
            result.error_in_exec,
            re.sub(r"\x1b\[[\d;]*m", "", shown),
        )


@pytest.fixture
def cell(shell: InteractiveShell, capsys: pytest.CaptureFixture) -> object:
    def run(source: str) -> Cell:
        result = shell.run_cell(source)
        out, err = capsys.readouterr()
        assert err == ""
        return Cell(result, out)

    return run


def refused(cell: Cell) -> str:
    """The one sentence with which a cell failed, without a stack of ours."""
    assert isinstance(cell.error, CourseError) and "Traceback" not in cell.shown
    return str(cell.error)


# -- launching --------------------------------------------------------------------------------------------------------


def test_torchrun(cell: object, labs: Path) -> None:
    (labs / "src" / "count.py").write_text(COUNT)
    ran = cell("run = %torchrun --standalone --nproc-per-node 2 src/count.py\nrun")
    assert ran.result.ok and ran.result.exit_codes == {0: 0, 1: 0}
    assert sorted(ran.shown.splitlines()[:2]) == ["rank 0 │ 0 of 2", "rank 1 │ 1 of 2"]
    assert "<Run: torchrun --standalone --nproc-per-node 2 src/count.py: 2 ranks, ok, " in repr(
        ran.result
    )


def test_python(cell: object, labs: Path) -> None:
    (labs / "src" / "count.py").write_text(COUNT)
    ran = cell("%python src/count.py --flag")
    assert ran.result.ok and "0 of 1" in ran.shown.splitlines()


@pytest.mark.parametrize(
    "flags", ["--num_processes 2", "--cpu --num_processes 2", "--multi_gpu --num_processes 2"]
)
def test_accelerate_runs_the_ranks_asked_for(cell: object, labs: Path, flags: str) -> None:
    if box.gpu_count():
        pytest.skip("this box has a GPU")
    (labs / "src" / "ask.py").write_text(
        "import sys\nfrom accelerate import Accelerator\na = Accelerator()\n"
        "print(a.process_index, a.num_processes, a.device.type, sys.argv[1:])\n"
    )
    ran = cell(f"%accelerate launch {flags} src/ask.py --cpu 'two words'")
    assert ran.result.ok and sorted(ran.result.exit_codes) == [0, 1]
    for rank in (0, 1):
        assert ran.result.text(rank, "stdout") == f"{rank} 2 cpu ['--cpu', 'two words']"
    assert "in a terminal: ACCELERATE_USE_CPU=1 accelerate launch --multi_gpu" in ran.shown
    assert "src/ask.py --cpu 'two words'" in ran.shown


def test_line_for_the_terminal_does_what_it_says(cell: object, labs: Path) -> None:
    """The command that the note of `%accelerate` gives runs two ranks in a real shell."""
    if box.gpu_count():
        pytest.skip("this box has a GPU")
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
        timeout=100,
    )
    assert sorted(done.stdout.splitlines()) == ["0 of 2", "1 of 2"], done.stderr


def test_accelerate_with_one_process(cell: object, labs: Path) -> None:
    (labs / "src" / "count.py").write_text(COUNT)
    assert "0 of 1" in cell("%accelerate launch --cpu --num_processes 1 src/count.py").shown


def test_progress_bar_is_a_picture_until_it_ends(
    cell: object, labs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures = []

    class Handle:
        def update(self, picture: object, **_: object) -> None:
            pictures.append(picture)

    monkeypatch.setattr(
        "course.charts.live_curves.display",
        lambda picture, **_: pictures.append(picture) or Handle(),
    )
    (labs / "src" / "bar.py").write_text(
        "import sys, time\n"
        "for i in range(4):\n"
        "    sys.stdout.write(f'\\r{i} of 3'); sys.stdout.flush(); time.sleep(0.3)\n"
        "print()\n"
    )
    ran = cell("%python src/bar.py")
    assert "rank 0: 0 of 3" in pictures[0] and pictures[-1] == {"text/plain": ""}
    assert ran.shown.splitlines()[0].strip() == "3 of 3"


def test_open_todo_is_one_calm_line(cell: object, labs: Path) -> None:
    (labs / "src" / "mine.py").write_text(TODO)
    for magic in ("%torchrun --standalone --nproc-per-node 2 src/mine.py", "%python src/mine.py"):
        ran = cell(magic)
        assert ran.error is None and not ran.result.ok
        assert ran.shown.splitlines()[0] == (
            "Still to write in mine.py: TODO 2: average over the ranks; TODO 3: do it in place. "
            "Then run this cell again."
        )
        assert "Traceback" not in ran.shown and "NotImplementedError" not in ran.shown


def test_open_todo_of_a_sibling(cell: object, labs: Path) -> None:
    (labs / "src" / "mine.py").write_text(TODO.replace("\naverage(1)", ""))
    (labs / "src" / "use.py").write_text("import mine\nmine.average(1)\n")
    ran = cell("%python src/use.py")
    assert ran.error is None and ran.shown.startswith("Still to write in mine.py: TODO 2")


def test_other_error_with_an_open_todo_is_an_error(cell: object, labs: Path) -> None:
    (labs / "src" / "mine.py").write_text(TODO.replace("average(1)", "1 / 0"))
    ran = cell("%python src/mine.py")
    assert isinstance(ran.error, CourseError) and "ZeroDivisionError" in ran.shown


def test_failing_script_fails_the_cell(cell: object, labs: Path) -> None:
    (labs / "src" / "fails.py").write_text("def f():\n    raise ValueError('no')\nf()\n")
    ran = cell("%torchrun --standalone --nproc-per-node 2 src/fails.py")
    assert (
        str(ran.error)
        == "torchrun --standalone --nproc-per-node 2 src/fails.py failed; what went wrong stands above."
    )
    assert "failed first (exit code 1):\nTraceback (most recent call last):" in ran.shown
    assert 'src/fails.py", line 2, in f' in ran.shown
    assert "course/" not in ran.shown and "elastic" not in ran.shown
    assert ran.shown.rstrip().endswith(str(ran.error))


def test_time_limit(cell: object, labs: Path) -> None:
    (labs / "src" / "slow.py").write_text("import time\ntime.sleep(100)\n")
    ran = cell("%timeout 1.5 python src/slow.py")
    assert ran.error is None and ran.result.reason == "limit"
    assert (
        "The limit of 1.5 s ended the run. Where the ranks stood:\n  rank 0 is at slow.py:2"
        in ran.shown
    )


@pytest.mark.parametrize(
    "line",
    ["", "soon python x.py", "-1 python x.py", "0 python x.py", "5 ls", "5", "nan python x.py"],
)
def test_time_limit_that_makes_no_sense(cell: object, line: str) -> None:
    assert refused(cell(f"%timeout {line}")).startswith("%timeout takes seconds and a command")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "%torchrun --standalone --nproc-per-node 2 src/none.py",
            "There is no script src/none.py in",
        ),
        ("%python src/none.py", "There is no script src/none.py in"),
        ("%python", "%python runs a script"),
        ("%torchrun --nproc-per-nod 2 --no-such-flag src/none.py", "torchrun: error: "),
        ("%torchrun", "torchrun: error: "),
        ("%torchrun 'src/none.py", "The command cannot be read: no closing quotation in"),
        ("%accelerate launch --cpu src/none.py", "There is no script src/none.py in"),
        ("%accelerate lunch src/none.py", "invalid choice"),
    ],
)
def test_what_cannot_start(cell: object, line: str, said: str) -> None:
    ran = cell(line)
    assert refused(ran)
    first = ran.shown.splitlines()[0]
    assert said in first
    assert len(ran.shown.splitlines()) <= 2


# -- more ranks than GPUs ---------------------------------------------------------------------------------------------


class Notes(list):
    """What the launcher would tell the learner."""

    def note(self, text: str) -> None:
        self.append(text)


@pytest.mark.parametrize(
    ("gpus", "count", "used", "said"),
    [
        (0, 4, 0, []),
        (1, 4, 0, ["4 ranks are more than 1 GPU: they run on the CPU with Gloo."]),
        (2, 4, 0, ["4 ranks are more than 2 GPUs: they run on the CPU with Gloo."]),
        (4, 4, 4, []),
        (8, 2, 8, []),
    ],
)
def test_more_ranks_than_gpus(
    monkeypatch: pytest.MonkeyPatch, gpus: int, count: int, used: int, said: list[str]
) -> None:
    monkeypatch.setattr(box, "gpu_count", lambda: gpus)
    monkeypatch.setattr(box, "cores", lambda: 8)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "all")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("OMP_NUM_THREADS")
    notes = Notes()
    assert launcher._prepare(notes, count) == used
    assert notes == said
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ("" if said else "all")
    assert os.environ["OMP_NUM_THREADS"] == str(8 // count)


def test_gpus_asked_for_by_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box, "gpu_count", lambda: 0)
    with pytest.raises(
        SystemExit, match="This box has no GPU that can be used: give --nproc-per-node a number"
    ):
        launcher._need_gpus("gpu")
    assert launcher._need_gpus("2") is None
    monkeypatch.setattr(box, "gpu_count", lambda: 3)
    assert launcher._need_gpus("gpu") == 3


# -- writing files ----------------------------------------------------------------------------------------------------


def test_writefile(cell: object, labs: Path) -> None:
    assert cell("%%writefile src/new/a.py\nx = 'ä €'\n").shown == "Writing src/new/a.py\n"
    file = labs / "src" / "new" / "a.py"
    assert file.read_text("utf-8") == "x = 'ä €'\n" and file.stat().st_mode & 0o777 == 0o644
    assert cell("%%writefile 'src/new/a.py'\ny\n").shown == "Overwriting src/new/a.py\n"
    assert file.read_text() == "y\n" and [path.name for path in file.parent.iterdir()] == ["a.py"]


def test_writefile_where_a_file_is_in_the_way(cell: object, labs: Path) -> None:
    (labs / "src" / "file").write_text("old")
    for target in ("src/file/a.py", "src"):
        sentence = refused(cell(f"%%writefile {target}\nx"))
        assert sentence.startswith(f"{target} cannot be written: ") and "\n" not in sentence
    assert (labs / "src" / "file").read_text() == "old"
    assert [path.name for path in (labs / "src").iterdir()] == ["file"]


def mounted(folder: Path, options: str) -> None:
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], capture_output=True
        ).returncode
    ):
        pytest.skip("mounting a small file system takes root")


@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_writefile_leaves_the_old_content(cell: object, labs: Path, fault: str) -> None:
    src = labs / "src"
    mounted(src, "size=64k")
    try:
        (src / "a.py").write_text("old")
        if fault == "read-only":
            subprocess.run(["mount", "-o", "remount,ro", str(src)], check=True)
        sentence = refused(cell("%%writefile src/a.py\n" + "x = 1\n" * 30_000))
        said = "No space left on device" if fault == "full" else "Read-only file system"
        assert (
            sentence == f"src/a.py cannot be written: {said}. Its old content, if any, is unharmed."
        )
        assert (src / "a.py").read_text() == "old" and len(list(src.iterdir())) == 1
    finally:
        subprocess.run(["umount", "-l", str(src)], check=True)


# -- TODOs ------------------------------------------------------------------------------------------------------------


def test_todos_are_found_in_order(labs: Path) -> None:
    (labs / "mine.py").write_text(TODO)
    assert todo.open_todos(labs / "mine.py") == [
        "TODO 2: average over the ranks",
        "TODO 3: do it in place",
    ]
    assert todo.open_todos(labs / "none.py") == []


def test_only_a_todo_counts_as_one(labs: Path) -> None:
    frame = 'Traceback (most recent call last):\n  File "/labs/src/mine.py", line 3, in f\n    raise Not\n'
    assert todo.met(frame + "NotImplementedError: TODO 2: average") == Path("/labs/src/mine.py")
    assert todo.met(frame + "NotImplementedError: something else") is None
    assert todo.met(frame + "ValueError: TODO 2: average") is None
    assert todo.met("") is None


def test_accelerate_leaves_the_scripts_own_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `--cpu` after the script is the script's."""
    from accelerate.commands import accelerate_cli, launch

    monkeypatch.setattr(launcher, "_need_script", lambda script: None)
    monkeypatch.setattr(box, "gpu_count", lambda: 0)
    monkeypatch.setattr(accelerate_cli, "main", lambda: None)
    monkeypatch.setattr(launch, "simple_launcher", None)
    monkeypatch.setattr("sys.argv", [])
    monkeypatch.setenv("ACCELERATE_USE_CPU", "")
    launcher._accelerate(
        Notes(), ["launch", "--cpu", "--num_processes", "2", "train.py", "--cpu", "a b"]
    )
    assert sys.argv[-3:] == ["train.py", "--cpu", "a b"] and sys.argv.count("--cpu") == 1
    assert sys.argv[:3] == ["accelerate", "launch", "--multi_gpu"]
    assert isinstance(launch.launch_command_parser().parse_args(sys.argv[2:]), Namespace)
