"""Scripts that know nothing of the course are watched on real ranks, each with a strong cause.

How often the first cause is right on a quiet and on a busy machine is measured by
tests/tools/measure_why.py; here stand those that no load has hidden.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.launching import clean_environment

from course.core import CourseError
from course.notebook.magics import CourseMagics
from course.own import watch_ranks

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

# It looks at torch as it was before, and as it is when enough steps have been watched.
LEAVES = """
import torch, torch.distributed as dist
from torch.nn.modules import module
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import dataloader

def seen():
    functions = [dist.all_reduce, dist.Work.wait, torch.autograd.backward, torch.save,
                 dataloader._BaseDataLoaderIter.__next__, DistributedDataParallel.forward]
    files = [getattr(getattr(each, "__code__", None), "co_filename", "") for each in functions]
    return ["interceptor" in file for file in files], len(module._global_forward_pre_hooks)

dist.init_process_group("gloo")
during = seen()
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(40):
    model(torch.ones(2, 4)).sum().backward()
    dist.all_reduce(model.weight.grad)
    optimizer.step()
print("during", during)
print("after", seen(), len(model._forward_pre_hooks))
dist.destroy_process_group()
"""
FAILS = "import torch.distributed as dist\ndist.init_process_group('gloo')\n1 / 0\n"


# Script, what is planted, and the first cause: its name, its rank, where it lies.
FIRST = [
    ("plain_ddp", "healthy", "computing", None, ""),
    ("plain_ddp", "straggler in forward", "straggler", 1, "forward"),
    ("plain_ddp", "straggler in backward", "straggler", 1, "backward"),
    ("with_trainer", "straggler outside", "straggler", 1, "outside the step"),
    ("with_accelerate", "input", "input", None, "with_accelerate.py"),
    ("with_accelerate", "not sharded", "not sharded", None, "with_accelerate.py"),
    ("plain_ddp", "python", "python", None, "planted.py"),
    ("plain_ddp", "optimizer", "optimizer", None, "plain_ddp.py"),
    ("plain_ddp", "saving", "saving", 0, "planted.py"),
    ("plain_ddp", "objects", "synchronization", None, "planted.py"),
    ("plain_ddp", "threads", "threads", None, ""),
    ("by_hand", "accumulation", "accumulation", None, "by_hand.py"),
]
# Causes that a crowded machine, or the invisible part of them, may hide behind others.
NAMED = [
    ("plain_ddp", "bandwidth", "bandwidth"),
    ("plain_ddp", "buffers", "buffers"),
    ("plain_ddp", "no overlap", "no overlap"),
    ("by_hand", "latency", "latency"),
    ("with_trainer", "unused parameters", "unused parameters"),
]


@pytest.mark.parametrize(("make", "planted", "cause"), NAMED)
def test_a_planted_cause_is_named(answer: object, make: str, planted: str, cause: str) -> None:
    assert cause in {found.cause for found in answer(make, planted).causes}


@pytest.mark.parametrize(("make", "planted", "cause", "rank", "where"), FIRST)
def test_the_first_cause_is_the_one_that_was_planted(
    answer: object, make: str, planted: str, cause: str, rank: int | None, where: str
) -> None:
    found = answer(make, planted).causes[0]
    assert (found.cause, found.rank) == (cause, rank)
    assert found.where.startswith(where)


@pytest.mark.parametrize(
    ("make", "planted", "cause", "rank", "where"),
    [
        ("by_hand", "straggler in forward", "straggler", 1, "forward"),
        ("with_accelerate", "input", "input", None, "with_accelerate.py"),
        ("with_trainer", "python", "python", None, "planted.py"),
        ("plain_ddp", "not sharded", "not sharded", None, "plain_ddp.py"),
    ],
)
def test_four_ranks(
    answer: object, make: str, planted: str, cause: str, rank: int | None, where: str
) -> None:
    found = answer(make, planted, 4).causes[0]
    assert (found.cause, found.rank) == (cause, rank)
    assert found.where.startswith(where)


def test_nothing_of_it_is_left_in_the_script(warm_ranks: None, tmp_path: Path) -> None:
    script = tmp_path / "leaves.py"
    script.write_text(LEAVES)
    run, told = watch_ranks(["torchrun", "--standalone", "--nproc-per-node", "2", str(script)])
    assert run.ok
    for rank in (0, 1):
        during, after = run.text(rank, "stdout").splitlines()
        assert during == f"during ({[True] * 6}, 1)"
        assert after == f"after ({[False] * 6}, 0) 0"
    assert [len(rank.steps) for rank in told] == [20, 20]


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess:
    """Type ``python -m course why ...`` in a folder."""
    ranks = ["--", sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = [sys.executable, "-m", "course", "why", *words[1:], *ranks, "--nproc-per-node", "2"]
    env = clean_environment() | {"OMP_NUM_THREADS": "1"}
    return subprocess.run([*command, words[0]], cwd=folder, env=env, capture_output=True, text=True)


def test_a_script_that_fails_is_shown_as_it_is(tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text(FAILS)
    done = typed(tmp_path, str(script))
    assert done.returncode == 1 and done.stdout == ""
    assert "ZeroDivisionError" in done.stderr and f'File "{script}", line 3' in done.stderr
    assert "course/own" not in done.stderr
    last = done.stderr.rpartition("The run failed with exit code 1.")[2]
    assert "failed first at fails.py:3: ZeroDivisionError" in last


def test_a_run_is_ended_when_it_was_watched(tmp_path: Path) -> None:
    script, kept = tmp_path / "endless.py", tmp_path / "kept.json"
    script.write_text(LEAVES.replace("range(40)", "iter(int, 1)"))
    done = typed(tmp_path, str(script), "--stop", "--json", str(kept))
    found = json.loads(kept.read_text())
    assert done.returncode == (3 if any(not one["note"] for one in found["findings"]) else 0)
    assert found["ended"] == "stopped" and "Interrupted" not in done.stderr
    answer = found["why"]
    assert set(answer["lanes"]) == {"0", "1"} and answer["step_s"] > 0
    shares = [cause["share"] for cause in answer["causes"]]
    assert all(0 <= share <= 1 for share in shares)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["endless.py", "kept.json"]


def test_in_a_notebook_it_is_a_picture(
    warm_ranks: None, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    script, kept = tmp_path / "leaves.py", tmp_path / "kept.json"
    script.write_text(LEAVES)
    line = f"--steps 5 --json {kept} torchrun --standalone --nproc-per-node 2 {script}"
    answer = CourseMagics(None).why(line)
    found = json.loads(kept.read_text())
    assert (found["tool"], found["ended"]) == ("why", "by itself")
    assert found["why"]["ranks"] == [0, 1]
    assert "Cure: " in capsys.readouterr().out
    shown = answer._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg") and "Rank 1" in shown["image/svg+xml"]
    with pytest.raises(CourseError, match="at least 3 steps"):
        CourseMagics(None).why("--steps 2 torchrun x.py")
