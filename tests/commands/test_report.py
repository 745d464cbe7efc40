"""``python -m course report``: one file about everything, even after a failure or an interrupt."""

import ast
import os
import re
import signal
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.lesson_samples import code, course
from support.patience import runs, until
from support.python import run_python

from course import hardware
from course.commands import report, report_scripts, report_speed, report_terminal
from course.commands.report_terminal import CommandResult
from course.core import ROOT, RUNS, CourseError
from course.lessons.lesson import lessons

PYTHON = [sys.executable, "-c"]
SCRIPTS = {  # the commands of a small course's lessons, and how they end
    "well": ("", "print('fine')"),
    "wrong": ("", "print('before'); raise ValueError('no such thing')"),
    "warns": (" --loud  and a note", "import warnings; warnings.warn('look out')"),
    "fails": ("", "raise SystemExit(1)"),
    "needs": (" runs/table.csv", ""),
}


@pytest.fixture
def small(tmp_path, monkeypatch) -> Iterator[Path]:
    """A course with a script in each lesson, as the current folder, on a machine without GPUs."""
    texts = {}
    for name, (arguments, body) in SCRIPTS.items():
        docstring = f'"""src/{name}.py: a script.\n\n    python src/{name}.py{arguments}\n"""'
        texts[name] = code(f"%%writefile src/{name}.py", *docstring.splitlines(), body)
    monkeypatch.setattr(report, "ROOT", course(tmp_path, **texts))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hardware, "gpu_count", lambda: 0)
    before = signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, before)


def written(folder: Path) -> str:
    """The text of the only report."""
    [path] = (folder / RUNS).glob("report-*.md")
    return path.read_text()


def test_the_scripts_are_run_by_their_own_commands(small, capsys):
    assert report.main(["--only", "scripts"]) == 1
    text = written(small)
    assert "No GPU takes part." in text and "## scripts: " in text and "## box" not in text
    well = r"^- `python src/well\.py` \(00_well\), [\d.]+ s\n  ~~~\n  fine\n  ~~~$"
    assert re.search(well, text, re.MULTILINE) and re.search(r"- 00_well: \d+ s\n", text)
    wrong = (
        r"- \*\*`python src/wrong\.py` \(01_wrong\), [\d.]+ s: ended with exit code 1\*\*\n  ~~~\n"
    )
    assert re.search(wrong + r"  before\n(  .+\n)+  ValueError: no such thing\n  ~~~", text)
    assert re.search(r"warns\.py --loud` .+ s\n(  .+\n)+  - warns: UserWarning: look out", text)
    assert "ended with exit code 1, as it is meant to" in text
    needs = "`python src/needs.py runs/table.csv` needs runs/table.csv, which a cell of its lesson"
    assert f"- not run: {needs} writes" in text
    assert "## 1 fault in scripts\n\n- `python src/wrong.py`" in text
    assert "- 1 × UserWarning: look out" in text
    assert text.strip() in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["^C", "SIGTERM"])
def test_an_interrupt_keeps_what_was_gathered(small, monkeypatch, number):
    run = report_terminal.run

    def interrupted(command, *others):
        if "src/wrong.py" in command:
            os.kill(os.getpid(), number)
        return run(command, *others)

    monkeypatch.setattr(report_terminal, "run", interrupted)
    assert report.main(["--only", "scripts", "notebooks"]) == 130
    text = written(small)
    assert "src/well.py" in text and "**The part scripts was interrupted.**" in text
    assert "## notebooks" not in text and "## 1 fault in scripts\n" in text


def test_a_part_that_fails_does_not_end_the_report(small, monkeypatch):
    monkeypatch.setitem(report.PARTS, "links", lambda report: 1 / 0)
    assert report.main(["--only", "links", "notebooks"]) == 1
    text = written(small)
    assert "**The part links failed.**" in text and "ZeroDivisionError" in text
    assert "## notebooks" in text


def test_the_home_folder_is_not_named(small):
    notes = report.ReportFile(small / RUNS / "report-0.md")
    notes.add(f"{Path.home()}/course/x.py")
    assert written(small) == "~/course/x.py\n"


def ran(commands: list, **ends: CommandResult):
    """A stand-in for `run` that records the commands and answers by a word in them."""

    def run(command: list[str], *_: object) -> CommandResult:
        commands.append(command)
        return next((end for word, end in ends.items() if word in command), ends["else_"])

    return run


COLUMNS, ROW = "   size (B)    time (us)  busbw (GB/s)", "       1024          3.1         0.330"


def test_every_pair_of_gpus_and_all_of_them_add_up(small, monkeypatch):
    commands = []
    lines = ["NCCL version 2.28", COLUMNS, f"{ROW} first", ROW, "box:1:2 NCCL INFO bye"]
    fast, slow = CommandResult(0, 3.0, lines), CommandResult(None, 9, ["…"])
    monkeypatch.setattr(hardware, "gpu_count", lambda: 3)
    monkeypatch.setattr(report_terminal, "run", ran(commands, else_=fast))
    assert report.main(["--only", "links"]) == 0
    on_ranks = [command for command in commands if "torchrun" in command]
    groups = [command[command.index(str(report.ON_RANKS)) + 1 :] for command in on_ranks]
    assert groups == [["0", "1"], ["0", "2"], ["1", "2"], ["0", "1", "2"]]
    assert [command[command.index("--nproc-per-node") + 1] for command in on_ranks] == list("2223")
    text = written(small)
    assert f"- GPUs 1, 2: right\n  ~~~\n  {COLUMNS}\n  {ROW}\n  ~~~" in text
    assert f"- GPUs 0, 1, 2: right\n  ~~~\n  {COLUMNS}\n  {ROW} first\n  {ROW}\n  ~~~" in text
    monkeypatch.setattr(report_terminal, "run", ran([], else_=slow))
    notes = report.ReportFile(small / "slow.md")
    report.links(notes)
    assert notes.faults[0] == "GPUs 0, 1: ended at the time limit" and len(notes.faults) == 4


def test_one_gpu_is_tried_by_one_rank(small, monkeypatch):
    commands = []
    monkeypatch.setattr(hardware, "gpu_count", lambda: 1)
    result = CommandResult(0, 3, [COLUMNS, ROW])
    monkeypatch.setattr(report_terminal, "run", ran(commands, else_=result))
    assert report.main(["--only", "links"]) == 0
    (command,) = (command for command in commands if "torchrun" in command)
    assert command[-3:] == ["1", str(report.ON_RANKS), "0"]


@pytest.mark.slow
@pytest.mark.rest
def test_the_sums_of_two_ranks_on_the_cpu_are_right_and_timed_by_size(small):
    assert report.main(["--only", "links"]) == 0
    text = written(small)
    assert "- CPU: right\n" in text
    sizes = re.findall(r"^ +(\d+) +[\d.]+ +([\d.]+) +([\d.]+)$", text, re.MULTILINE)
    assert [int(size) for size, *_ in sizes] == [2**10, 2**13, 2**16, 2**19, 2**22]
    assert all(speed == bus for _, speed, bus in sizes)  # 2(N−1)/N is 1 for two ranks


def test_a_race_that_fails_is_a_fault_and_the_others_are_run(small, monkeypatch):
    def rows(script: str, ranks: int) -> list[dict]:
        if script == "src/duel.py":
            raise CourseError("finished: ValueError: no such thing")
        pairs = report_speed.races()[script]
        return [
            {"way": way, "turn": turn, "seconds": 2.0 if way == "DDP" else 1.0}
            for way in {way for pair in pairs for way in (pair.first, pair.second)}
            for turn in range(3)
        ]

    monkeypatch.setattr(report, "warm_up", lambda: None)
    monkeypatch.setattr(report_speed, "rows", rows)
    assert report.main(["--only", "speed"]) == 1
    text = written(small)
    assert "- **`src/duel.py`: finished: ValueError: no such thing**" in text
    assert "- `src/hvd_race.py`: the Horovod engine to torch's DDP: 0.50 (0.50 to 0.50" in text
    assert "## 1 fault in speed" in text


def test_notebooks_that_hold_and_one_that_does_not(small, monkeypatch):
    (small / "solutions").mkdir()
    paths = [small / "solutions" / f"{name}.ipynb" for name in ("good", "bad")]
    for path in paths:
        path.write_text("{}")
    ends = {str(paths[1]): CommandResult(1, 70.0, ["1 failed"])}
    monkeypatch.setattr(
        report_terminal, "run", ran([], **ends, else_=CommandResult(0, 100.0, ["2 passed"]))
    )
    notes = report.ReportFile(small / "notes.md")
    report.notebooks(notes)
    text = (small / "notes.md").read_text()
    assert notes.faults == ["bad, 70 s: ended with exit code 1"]
    assert "- good, 2 min\n" in text and "  1 failed\n" in text
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    report.notebooks(notes)
    assert "nbval is not installed" in (small / "notes.md").read_text()


def test_the_box_is_described(small):
    report.main(["--only", "box"])
    text = written(small)
    assert "- ok: Linux" in text and "Labs    Here the labs use" in text and ", nbval" in text
    assert "PyTorch version: " in text and "torch.utils.collect_env`" in text


SECRETS = ("NVIDIA_API_KEY", "NCCL_TOKEN", "TORCH_HUB_SECRET", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY")


def test_no_secret_is_written(small, monkeypatch):
    for name in SECRETS:
        monkeypatch.setenv(name, "do-not-tell")
    monkeypatch.setenv("NCCL_P2P_DISABLE", "1")
    report.main(["--only", "box"])
    text = written(small)
    assert "do-not-tell" not in text and not [name for name in SECRETS if name in text]
    assert "`NCCL_P2P_DISABLE=1`" in text


def test_a_box_without_jupyter_is_described_too():
    code = """
        import sys
        sys.modules |= dict.fromkeys(("IPython", "ipywidgets", "jupytext", "nbformat"))
        from course.commands import report
    """
    done = run_python(textwrap.dedent(code))
    assert done.returncode == 0, done.stderr


# -- commands, as in a terminal


def test_a_command_ends_in_its_own_way_or_at_the_limit(tmp_path):
    ended = report_terminal.run([*PYTHON, "print('\\x1b[1mhi\\x1b[0m'); exit(3)"], tmp_path, 60)
    assert (ended.code, ended.lines, ended.ending) == (3, ["hi"], "with exit code 3")
    sleeper = "import subprocess, sys, time; print(subprocess.Popen(['sleep', '6000'], "
    sleeper += "start_new_session=True).pid, flush=True); time.sleep(6000)"
    limit = 2
    while limit == 2 or not ended.lines:  # on a busy machine, it had not printed yet
        limit *= 2
        ended = report_terminal.run([*PYTHON, sleeper], tmp_path, limit)
    assert ended.code is None and ended.ending == "at the time limit"
    until(lambda: not runs(int(ended.lines[0])))


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("/x/y.py:3: UserWarning: look out", "UserWarning: look out"),
        ("[rank1]:[W1122 08:00:00.1 Process.cpp:50] [PG 0] Guessing", "[PG 0] Guessing"),
        ("W1122 08:00:00.1 123 torch/run.py:85] Setting threads", "Setting threads"),
        ("W1122 08:00:00.1 123 torch/run.py:85] *****", None),
        ("box:12:34 [0] misc.cc:9 NCCL WARN Cuda failure", "NCCL WARN Cuda failure"),
        ("warnings are words too", None),
    ],
)
def test_each_warning_counts_once(line, warning):
    assert CommandResult(0, 1.0, [line, "fine", line]).warnings == ([warning] if warning else [])


# -- the commands of the real lessons


def test_every_command_in_a_docstring_is_known():
    known = {command.text for command in report_scripts.commands(lessons(ROOT))}
    assert len(known) > 70
    assert all(any(name in text for text in known) for name in report_scripts.FAILS)
    for lesson in lessons(ROOT):
        for source in lesson.scripts(solved=True).values():
            docstring = ast.get_docstring(ast.parse(source), clean=False) or ""
            for line in re.findall(r"^ {4}(.* src/\w+\.py.*)$", docstring, re.MULTILINE):
                assert any(line.startswith(text) for text in known), line


def test_what_a_command_lacks(tmp_path, monkeypatch):
    def needs(text: str, gpus: int = 0) -> str | None:
        return report_scripts.LessonCommand("00", text).missing(tmp_path, gpus)

    monkeypatch.setenv("PATH", os.defpath)
    assert needs("python src/spawn.py --gpus 0 2", 2) == "GPU 2"
    assert needs("python src/spawn.py --gpus 0 2", 3) is None
    assert needs("python src/train.py --gpus --snapshot a.pt") is None
    assert needs("srun python src/x.py") in ("a Slurm cluster", "the program srun")
    assert needs("torchrun --nnodes 2 --rdzv-endpoint node0:29400 src/x.py").startswith("the nodes")
    assert needs("python src/x.py --snapshot runs/x.pt") is None
    assert needs("python src/x.py runs/x.pt") == "runs/x.pt, which a cell of its lesson writes"
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "x.pt").touch()
    assert needs("python src/x.py runs/x.pt") is None
    assert needs("no-such-program src/x.py") == "the program no-such-program"
    stuck = report_scripts.LessonCommand("00", "timeout 3 torchrun src/stuck.py")
    fails = report_scripts.LessonCommand("04", "torchrun src/fails.py x")
    assert stuck.code == 124 and fails.code == 1


@pytest.mark.parametrize(("gpus", "on_cpu"), [(0, True), (1, True), (2, False)])
def test_accelerate_uses_the_cpu_where_there_are_too_few_gpus(gpus, on_cpu):
    words = ["accelerate", "launch", "--num_processes", "2", "src/x.py"]
    on_the_cpu = ["env", "ACCELERATE_USE_CPU=1", *words[:2], "--multi_gpu", *words[2:]]
    command = report_scripts.LessonCommand("00", " ".join(words))
    assert command.on(gpus) == (on_the_cpu if on_cpu else words)
    alone = "accelerate launch --num_processes 1 src/x.py"
    assert report_scripts.LessonCommand("00", alone).on(gpus) == alone.split()
