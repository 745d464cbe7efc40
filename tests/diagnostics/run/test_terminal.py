"""`run` as typed in a terminal: what passes through, what it says, its exit code and its JSON."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.launching import clean_environment
from support.ports import free_port

from course.core import ROOT
from course.diagnostics.run import progress
from course.diagnostics.run.thresholds import HUNG_AFTER_S
from course.diagnostics.watch.rank_states import RankReader, RankState

PLANTS = Path(__file__).with_name("plants")
HOW = (ROOT / "course/diagnostics/run/how.md").read_text(encoding="utf-8")
RANKS = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
pytestmark = pytest.mark.slow

# What a script can see of its process.
SEES = """
import os, sys, threading, traceback
print(sys.argv, __name__, __file__, sys.path, sys.flags.safe_path)
print(threading.active_count(), [each.name for each in threading.enumerate()])
print(sorted(sys.modules["__main__"].__dict__), sys.excepthook is sys.__excepthook__)
print("to stderr", file=sys.stderr)
sys.stdout.write("50 %\\r100 %\\n")
def fail():
    raise KeyError("no such thing")
fail()
"""
JOINS = """
import torch.distributed as dist
dist.init_process_group("gloo")
"""


@pytest.mark.parametrize("path", ["", str(ROOT)], ids=["", "the course on PYTHONPATH"])
def test_a_script_is_run_as_alone(
    typed: object, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", path)
    script = tmp_path / "sees.py"
    script.write_text(SEES)
    command = [sys.executable, str(script), "--flag", "two words"]
    env = clean_environment()
    alone = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    watched = typed("run", "--quiet", "--", *command)
    assert watched.stdout == alone.stdout
    assert watched.stderr.startswith(alone.stderr)
    assert watched.returncode == alone.returncode == 1
    text = watched.stderr.removeprefix(alone.stderr)
    assert "Rank 0 failed first at sees.py:9: KeyError: 'no such thing'" in text
    assert [path.name for path in tmp_path.iterdir()] == ["sees.py"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nosuch.py"], "can't open file"),
        (["-m", "nosuch"], "No module named nosuch"),
        (["-c", "import sys; sys.exit(4)"], "sys.exit(4)"),
    ],
)
@pytest.mark.parametrize("tool", ["run", "why"])
def test_what_ends_a_script_that_raises_nothing_is_said(
    typed: object, tool: str, words: list[str], says: str
) -> None:
    done = typed(tool, "--", sys.executable, *words)
    assert done.returncode in (1, 2, 4)
    assert "Rank 0 failed first: " in done.stderr and says in " ".join(done.stderr.split())


def test_a_hang_is_explained_to_people_and_programs(typed: object, tmp_path: Path) -> None:
    """People see what how.md shows."""
    (tmp_path / "train.py").write_text((PLANTS / "readme.py").read_text())
    done = typed("run", "--patience", "5", "--json", "f.json", "--", *RANKS, "train.py")
    assert done.returncode == 3 and "\x1b" not in done.stderr
    shown = re.search(r"^\$ python .*? train.py\n(.*?)^```$", HOW, re.MULTILINE | re.DOTALL)[1]
    first, *answer = shown.splitlines()
    assert first.startswith("The run was ended. No rank has moved for")
    assert "The run was ended. No rank has moved for" in done.stderr
    assert "\n".join(answer) in done.stderr
    report = json.loads((tmp_path / "f.json").read_text())
    assert (report["schema"], report["tool"], report["ended"]) == (1, "run", "hang")
    assert report["exit_code"] is None and report["command"][-1] == "train.py"
    assert report["findings"][0]["what"] == "hidden error" and report["findings"][0]["lab"]
    assert set(report["versions"]) == {"course", "torch", "python"}


def is_at_barrier(ranks: list[RankState]) -> bool:
    """Whether rank 0 has reached the barrier, where it waits for rank 1."""
    calls = ranks[0].calls if len(ranks) == 2 else []
    return bool(calls) and calls[-1].name == "barrier"


def test_an_interrupt_says_where_the_ranks_stand(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "course", "run", "--keep", "kept", "--", sys.executable]
    command = [*words, str(PLANTS / "spawned.py"), "sleeps"]
    env = clean_environment()
    run = subprocess.Popen(command, stderr=subprocess.PIPE, env=env, cwd=tmp_path, text=True)
    reader = RankReader(tmp_path / "kept")
    while (
        not is_at_barrier(ranks := reader.ranks()) or progress.stalled_s(ranks) < 2 * HUNG_AFTER_S
    ):
        assert run.poll() is None, run.communicate()[1]
        time.sleep(0.5)
    run.send_signal(signal.SIGINT)
    text = run.communicate()[1]
    assert "Interrupted after" in text and "rank 0 waits in barrier" in text
    # If its threads wait for cores at that moment, it is too early to accuse a rank.
    assert run.returncode == (3 if "Missing call: Rank 0 waits in barrier" in text else 130)


@pytest.mark.sampled
def test_ranks_that_are_too_few_wait_to_join(typed: object, tmp_path: Path) -> None:
    script = tmp_path / "joins.py"
    script.write_text(JOINS)
    env = {
        "RANK": "0",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
    }
    done = typed("run", "--patience", "5", "--", sys.executable, str(script), **env)
    assert done.returncode == 3
    assert "Not joined: Rank 0 waits in init_process_group at joins.py:3" in done.stderr


@pytest.mark.sampled
def test_ranks_that_a_script_spawns(typed: object) -> None:
    done = typed("run", "--", sys.executable, str(PLANTS / "spawned.py"), "error")
    assert done.returncode == 1 and "Rank 1 failed first at spawned.py:" in done.stderr


@pytest.mark.sampled
def test_commands_of_one_rank_each_are_judged_together(tmp_path: Path) -> None:
    """As srun and mpirun start them."""
    command = [sys.executable, "-m", "course", "run", "--rank", "--patience", "6"]
    command += [str(PLANTS / "with_ddp.py"), "leftover"]
    shared = clean_environment() | {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}
    shared |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
    shared |= {"WORLD_SIZE": "2"}
    runs = [
        subprocess.Popen(
            command, env=shared | {"RANK": str(rank)}, cwd=tmp_path, text=True,
            stderr=subprocess.PIPE,
        )
        for rank in (0, 1)
    ]  # fmt: skip
    texts = [run.communicate()[1] for run in runs]
    assert [run.returncode for run in runs] == [3, 3], texts
    assert "Different calls: " in texts[0] and "rank 1 waits in barrier" in texts[0]
    assert "Different calls" not in texts[1]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sampled
def test_one_command_for_each_machine(tmp_path: Path) -> None:
    """Two agents of torchrun meet at one port, and share a folder that holds another file."""
    (tmp_path / "model.pt").write_text("weights")
    ranks = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nnodes",
        "2",
        "--nproc-per-node",
        "1",
    ]
    ranks += ["--master-addr", "127.0.0.1", "--master-port", str(free_port())]
    command = [sys.executable, "-m", "course", "run", "--patience", "6"]
    command += ["--folder", str(tmp_path), "--", *ranks]
    env = clean_environment()
    runs = [
        subprocess.Popen(
            [*command, "--node-rank", str(node), str(PLANTS / "with_ddp.py"), "leftover"],
            env=env, cwd=tmp_path, text=True, stderr=subprocess.PIPE,
        )
        for node in (0, 1)
    ]  # fmt: skip
    texts = [run.communicate()[1] for run in runs]
    assert [run.returncode for run in runs] == [3, 3], texts
    assert sum("Different calls: " in text for text in texts) == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "model.pt"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "No command was given; for example: "),
        (["--", "no-such-program"], "Cannot start no-such-program: it is not on PATH. Is the "),
        (["--", "./no-such-program"], "Cannot start ./no-such-program: No such file or directory."),
        (["--", "/dev/null"], "Cannot start /dev/null: Permission denied."),
        (["--rank", "train.py"], "nothing says which rank this is"),
        (["--patience", "soon", "--", "true"], "a number of seconds, not soon"),
        (["--json", "/dev/null/f", "--", "true"], "cannot be written to /dev/null/f: "),
        (["--keep", "/dev/null/f", "--", "true"], "/dev/null/f cannot be made: "),
        (["--keep", "/dev", "--", "true"], "/dev is not empty: "),
        (["--folder", "/dev/null/f", "--", "true"], "There is no folder /dev/null/f: "),
    ],
)
def test_what_cannot_be_run_is_one_sentence(typed: object, words: list[str], says: str) -> None:
    done = typed("run", *words)
    assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr


def test_a_program_without_python_is_run_too(typed: object) -> None:
    done = typed("run", "--", "sh", "-c", "echo out; exit 5")
    assert done.returncode == 5 and done.stdout == "out\n"


def test_the_environment_of_the_script_is_the_users(typed: object) -> None:
    code = "import os; print(sorted(os.environ))"
    done = typed("run", "--quiet", "--", sys.executable, "-c", code)
    more = set(json.loads(done.stdout.replace("'", '"'))) - set(os.environ)
    assert {name for name in more if not name.startswith("COURSE_")} <= {
        "PYTHONPATH", "TORCH_FR_BUFFER_SIZE", "OMP_NUM_THREADS", "LC_CTYPE",
    }  # fmt: skip
