"""Scripts that do not use the course are watched on real ranks, each with a planted cause.

These tests check what is certain on any machine. test_recorded.py judges from recorded reports
which cause costs most, and tests/tools/measure_why.py measures how often live answers are right.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.launching import clean_environment
from support.watching import watch_ranks
from support.why_runs import PLANTED, Run, is_right

from course.core import CourseError
from course.diagnostics.why.step_breakdown import StepBreakdown
from course.notebook.magics import CourseMagics

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

# It looks at torch's functions while it is watched, and after enough steps have been watched.
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
LATE_S = 0.08  # of plants/planted.py
FAILS = "import torch.distributed as dist\ndist.init_process_group('gloo')\n1 / 0\n"


# By fault in `PLANTED`: what any machine sees of it in each step, however busy it is.
SEEN = {
    "straggler in forward": lambda seen: 1 in seen.late("forward"),
    "straggler in backward": lambda seen: 1 in seen.late("backward"),
    "straggler outside": lambda seen: 1 in seen.late("python", "input"),
    "input": lambda seen: seen.late("input") == {0, 1},
    "python": lambda seen: seen.late("python", "input") == {0, 1},
    "saving": lambda seen: seen.at("saving", "planted.py") == [0],
    "optimizer": lambda seen: seen.at("optimizer", "plain_ddp.py") == [0, 1],
    "objects": lambda seen: seen.messages("synchronization") >= 20,
    "threads": lambda seen: {report.threads for report in seen.reports} == {8},
    "bandwidth": lambda seen: seen.reports[0].largest_gradient == 48_000_000,
    "buffers": lambda seen: seen.reports[0].script.ddp[0].buffers == 48_000_000,
    "no overlap": lambda seen: {len(pass_.buckets) for pass_ in seen.ddp_passes} == {1},
    "latency": lambda seen: seen.messages("gradients") == 124,
    "accumulation": lambda seen: seen.messages("early") == 3,
    "unused parameters": lambda seen: seen.reports[0].script.ddp[0].finds_unused,
}
SCRIPTS = {run.words: Path(run.script).name for run in PLANTED if run.ranks == 2}


class Seen(StepBreakdown):
    """The steps of all ranks, with short names for what `SEEN` asks."""

    def late(self, *kinds: str) -> set[int]:
        """The ranks that spend a planted delay in these kinds of work, in each step."""
        return {
            number
            for number in range(len(self.reports))
            if all(
                sum(slice_.end - slice_.start for slice_ in slices[number] if slice_.kind in kinds)
                >= LATE_S
                for slices in self.sliced
            )
        }

    def at(self, kind: str, file: str) -> list[int]:
        """The ranks that do this kind of work at a line of this file."""
        numbers = range(len(self.reports))
        return [n for n in numbers if any(s.where.startswith(file) for s in self.slices([kind], n))]

    def messages(self, traffic: str) -> int:
        """The least number of waits of this traffic in a step of rank 0."""
        return min(
            sum(
                self._classifier.classify_in_step(slice_, slices[0]) == traffic
                for slice_ in slices[0]
            )
            for slices in self.sliced
        )


@pytest.mark.parametrize(("fault", "is_seen"), SEEN.items(), ids=SEEN)
def test_what_was_planted_is_seen(
    answer: object, fault: str, is_seen: Callable[[Seen], bool]
) -> None:
    reports = answer(SCRIPTS[fault], fault).diagnosis.breakdown.reports
    assert [len(report.steps) for report in reports] == [20, 20]
    assert is_seen(Seen(reports))


@pytest.mark.parametrize(
    "run", [run for run in PLANTED if not run.recorded], ids=lambda run: run.name
)
def test_a_fact_needs_no_recording(answer: object, run: Run) -> None:
    result = answer(Path(run.script).name, run.words, run.ranks)
    assert is_right(run, result), str(result)


@pytest.mark.parametrize("count", [2, 4])
def test_a_fact_comes_first(answer: object, count: int) -> None:
    cause = answer("plain_ddp", "not sharded", count).causes[0]
    assert (cause.name, cause.rank, cause.share) == ("not sharded", None, 1 - 1 / count)
    assert cause.line.startswith("plain_ddp.py")


def test_nothing_of_it_is_left_in_the_script(warm_ranks: None, tmp_path: Path) -> None:
    script = tmp_path / "leaves.py"
    script.write_text(LEAVES)
    run, reports = watch_ranks(["torchrun", "--standalone", "--nproc-per-node", "2", str(script)])
    assert run.ok
    for rank in (0, 1):
        during, after = run.text(rank, "stdout").splitlines()
        assert during == f"during ({[True] * 6}, 1)"
        assert after == f"after ({[False] * 6}, 0) 0"
    assert [len(rank.steps) for rank in reports] == [20, 20]


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
    assert "course/diagnostics" not in done.stderr
    last = done.stderr.rpartition("The run failed with exit code 1.")[2]
    assert "failed first at fails.py:3: ZeroDivisionError" in last


def test_a_run_is_ended_when_it_was_watched(tmp_path: Path) -> None:
    script, kept = tmp_path / "endless.py", tmp_path / "kept.json"
    script.write_text(LEAVES.replace("range(40)", "iter(int, 1)"))
    done = typed(tmp_path, str(script), "--stop", "--json", str(kept))
    report = json.loads(kept.read_text())
    assert done.returncode == (
        3 if any(not finding["note"] for finding in report["findings"]) else 0
    )
    assert report["ended"] == "stopped" and "Interrupted" not in done.stderr
    answer = report["why"]
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
    report = json.loads(kept.read_text())
    assert (report["tool"], report["ended"]) == ("why", "by itself")
    assert report["why"]["ranks"] == [0, 1]
    assert "Cure: " in capsys.readouterr().out
    shown = answer._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg") and "Rank 1" in shown["image/svg+xml"]
    with pytest.raises(CourseError, match="at least 3 steps"):
        CourseMagics(None).why("--steps 2 torchrun x.py")
