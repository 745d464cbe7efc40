"""The scripts of labs 04b and 04c outside their notebooks: their symptoms and their cures."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from support import solutions
from support.patience import PATIENCE_S
from torch._subclasses.fake_tensor import FakeTensorMode

from course.diagnostics import WatchedRun
from course.launch import connect
from course.launch.client import launch

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

LAB, NEXT = "04b_clinic", "04c_wrong_numbers"
TWO = ["torchrun", "--standalone", "--nproc-per-node", "2"]
HANG_S = 8.0  # for the ranks to reach the place where they hang; more on a busy machine


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the solved scripts of the lab, the working directory of each test."""
    connect.warm_up()
    folder = tmp_path_factory.mktemp("lab")
    for lab in (LAB, NEXT):
        solutions.write(lab, folder)
    # The first DDP of a process imports much, so wait for warm ranks that have imported it.
    launch([*TWO, str(folder / "hangs_ddp.py"), "validation_without_batch_norm"], limit=PATIENCE_S)
    return folder


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.fixture
def solved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Import a script of the labs into this process; the import is undone after the test."""
    with solutions.importable(monkeypatch, folder, LAB, NEXT) as load:
        yield load


@pytest.mark.parametrize(
    ("script", "cure"),
    [
        ("cured_hangs", lambda cures, tensor: cures.all_have_one(tensor)),
        ("cured_hangs", lambda cures, tensor: cures.all_have_one(None)),
        ("cured_hangs", lambda cures, tensor: cures.mean_on_rank_0(tensor.sum())),
        ("cured_hangs", lambda cures, tensor: cures.add_up({"loss": tensor})),
        ("cured_fails", lambda cures, tensor: cures.gather(tensor)),
        ("cured_lies", lambda cures, tensor: cures.mean_loss(tensor)),
        ("instruments", lambda cures, tensor: cures.slowest(0.5)),
    ],
)
def test_a_cure_sends_nothing_of_the_cpu_through_nccl(solved, monkeypatch, script, cure):
    """Fake tensors have a device, here a GPU, but no numbers, so each cure ends when it sends."""
    sent = []

    class SentError(Exception):
        pass

    def collective(*args: object, **_: object) -> None:
        parts = [part for arg in args for part in (arg if isinstance(arg, list) else [arg])]
        sent.extend(part.device.type for part in parts if isinstance(part, torch.Tensor))
        raise SentError

    for name in ("all_reduce", "all_gather", "all_gather_object"):
        monkeypatch.setattr(torch.distributed, name, collective)
    monkeypatch.setattr(torch.distributed, "get_backend", lambda: "nccl")
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    with FakeTensorMode(), pytest.raises(SentError):
        cure(solved(script), torch.ones(3, device="cuda"))
    assert set(sent) <= {"cuda"}


@pytest.mark.parametrize(
    ("words", "calls"),
    [
        ("hangs_ddp.py validation", {0: "forward", 1: "barrier"}),
        ("hangs.py mean", {0: "all_reduce", 1: "barrier"}),
        ("hangs_ddp.py leftover", {0: "backward", 1: "barrier"}),
    ],
)
def test_a_hang_shows_where_the_ranks_wait(words, calls):
    """The lesson takes the answers to its guesses from such runs, which are watched as here."""
    limit, waits_in = HANG_S, {}
    while waits_in != calls and limit < PATIENCE_S:
        with WatchedRun() as session:
            run = session.run([*TWO, *words.split()], limit=limit)
            session.ending(run)
        assert run.reason == "limit"
        waits_in, limit = run.waits_in, 2 * limit
    assert waits_in == calls


@pytest.mark.parametrize(
    ("script", "name", "says"),
    [
        ("hangs.py", "order", "Detected mismatch between collectives on ranks"),
        ("hangs_ddp.py", "skipping", "Rank 1 failed to pass monitoredBarrier"),
        ("fails.py", "download", "No such file or directory: 'runs/fails/vocabulary.txt'"),
        ("fails.py", "predictions", "Is there a distributed collective mismatch"),
        ("fails.py", "heads", "Expected to have finished reduction in the prior iteration"),
    ],
)
def test_a_failure_says_what_the_lesson_says(script, name, says):
    level = "DETAIL" if name == "order" else "INFO"
    command, env = [*TWO, script, name], {"TORCH_DISTRIBUTED_DEBUG": level}
    run = launch(command, limit=PATIENCE_S, env=env)
    assert not run.ok and run.reason == "finished"
    assert any(says in line.text for line in run.lines), run.lines


def test_without_buffers_the_forward_of_one_rank_waits_for_nobody():
    run = launch([*TWO, "hangs_ddp.py", "validation_without_batch_norm"], limit=PATIENCE_S)
    assert run.reason == "finished" and "validation loss" in run.text(0)


SILENT = """
import json
import torch
import torch.distributed as dist
from course import log
from torch import nn
from torch._C import _distributed_c10d as c10d
from torch.nn.parallel import DistributedDataParallel

def sent():
    return [entry["profiling_name"] for entry in json.loads(c10d._dump_fr_trace_json())["entries"]]

class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x):
        return self.used(x)

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(Half())
model(torch.randn(8, 4)).square().mean().backward()
log(gradient=model.module.used.weight.grad.sum())
model = DistributedDataParallel(nn.Linear(4, 4))
for _ in range(3):
    before = len(sent())
    with torch.no_grad():
        model(torch.randn(8, 4))
    evaluating = sent()[before:]
    loss = model(torch.randn(8, 4)).square().mean()
    log(evaluating=len(evaluating), training=len(sent()) - before - len(evaluating))
    loss.backward()
dist.barrier()
dist.destroy_process_group()
"""


def test_what_the_lesson_says_of_steps_that_send_nothing():
    """An unused parameter stops the averaging of gradients.

    Without buffers, only the second training forward sends anything.
    """
    Path("silent.py").write_text(SILENT)
    run = launch([*TWO, "silent.py"], limit=PATIENCE_S)
    assert run.ok, run.lines
    one, other = [row["gradient"] for row in run.rows if "gradient" in row]
    assert one != pytest.approx(other)
    forwards = [row for row in run.rows if "training" in row and row["rank"] == 0]
    assert [row["evaluating"] for row in forwards] == [0, 0, 0]
    assert [row["training"] for row in forwards] == [0, 2, 0]


def test_a_rate_of_each_rank_makes_the_weights_drift_apart_and_a_common_one_does_not():
    own, mean = (launch([*TWO, "drift.py", way], limit=PATIENCE_S) for way in ("own", "mean"))
    assert own.ok and mean.ok, own.lines + mean.lines
    assert [max(row["apart"] for row in run.rows) for run in (own, mean)] == [1, 0]


def test_the_debug_server_has_the_options_that_the_lesson_names():
    debug = pytest.importorskip("torch.distributed.debug")
    options = inspect.signature(debug.start_debug_server).parameters
    assert {"dump_dir", "dump_interval", "enabled_dumps"} <= set(options)
