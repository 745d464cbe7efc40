"""Lab 04's scripts outside of its notebook: the trainer, and the symptoms of the clinic's runs."""

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from support.solutions import write
from torch._subclasses.fake_tensor import FakeTensorMode

from course.launch import connect, stacks
from course.launch.client import launch

LAB = "04_ddp_in_practice"
TWO = ["torchrun", "--standalone", "--nproc-per-node", "2"]
HANG_S = 5.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The solved scripts of the lab, in a folder that is the working directory of each test."""
    connect.warm_up()
    folder = tmp_path_factory.mktemp("lab_04")
    write(LAB, folder)
    # The first DDP of a process imports much: wait until there are warm ranks that have done so.
    launch([*TWO, str(folder / "moved.py")], limit=100)
    return folder


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


def test_the_trainer_is_short(folder):
    assert len((folder / "trainer.py").read_text().splitlines()) <= 150


def test_one_process_trains_without_a_launcher_and_goes_on_from_its_snapshot():
    words = ["python", "trainer.py", "--pairs", "32", "--snapshot", "alone.pt", "--epochs"]
    first, second = launch([*words, "1"]), launch([*words, "2"])
    assert first.ok and second.ok, first.lines
    assert [row["step"] for row in first.rows if "step" in row] == [1, 2]
    assert [row["step"] for row in second.rows if "step" in row] == [3, 4]
    assert 0 <= second.rows[-1]["accuracy"] <= 1
    assert "rank 0 begins at step 2" in Path("alone.pt.rank0.log").read_text()


def test_the_learning_rate_belongs_to_the_ranks_that_run():
    """Two ranks warm up for two steps, one rank goes on: its global batch is half of theirs."""
    words = ["trainer.py", "--gpus", "--pairs", "64", "--snapshot", "fewer.pt", "--epochs"]
    first, second = launch([*TWO, *words, "1"]), launch(["python", *words, "2"])
    assert first.ok and second.ok, first.lines + second.lines
    rates = {row["step"]: row["rate"] for row in first.rows + second.rows if "rate" in row}
    assert rates[2] == pytest.approx(5e-4 * 3 / 10)
    assert rates[3] == pytest.approx(5e-4 * 0.5**0.5 * 4 / 10)


def test_a_gpu_that_is_not_there_is_a_sentence():
    run = launch(["python", "trainer.py", "--gpus", "2"])
    assert (
        run.text(0, "stderr")
        == "GPU 2 was asked for, and this box has 0: give --gpus other numbers, or none."
    )


@pytest.fixture
def solved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Import a script of the lab into this process; the import is undone after the test."""

    def take(name: str) -> ModuleType:
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return take


@pytest.mark.parametrize(
    ("gpus", "ranks", "device"),
    [
        ([0, 3], 2, torch.device("cuda", 3)),
        (None, 4, torch.device("cuda", 1)),
        (None, 5, torch.device("cpu")),
        ([], 2, torch.device("cpu")),
    ],
)
def test_ranks_take_the_gpus_that_are_named_or_one_each_or_none(
    solved, monkeypatch, gpus, ranks, device
):
    joined = join_as_rank_1(solved("join"), monkeypatch, gpus, ranks)
    on_gpu = device.type == "cuda"
    assert joined == (
        device,
        {
            "backend": "nccl" if on_gpu else "gloo",
            "device_id": device if on_gpu else None,
            "current": device if on_gpu else None,
            "visible": "0,1,2,3" if on_gpu else "",
        },
    )


@pytest.mark.parametrize(
    ("gpus", "ranks", "says"),
    [
        ([0], 2, "2 ranks cannot share 1 GPU"),
        ([3, 3], 2, "2 ranks cannot share 1 GPU"),
        ([4], 1, "GPU 4 was asked for, and this box has 4"),
    ],
)
def test_gpus_that_cannot_be_had_are_a_sentence(solved, monkeypatch, gpus, ranks, says):
    with pytest.raises(SystemExit, match=says):
        join_as_rank_1(solved("join"), monkeypatch, gpus, ranks)


def join_as_rank_1(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, gpus: list[int] | None, ranks: int
) -> tuple[torch.device, dict]:
    """What `join` returns on rank 1 of a box with four GPUs, and what it has set up by then."""
    state = {"current": None}
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: state.update(current=device))
    monkeypatch.setattr(
        module.dist,
        "init_process_group",
        lambda backend, device_id: state.update(backend=backend, device_id=device_id),
    )
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    for name, value in {"RANK": 1, "LOCAL_RANK": 1, "LOCAL_WORLD_SIZE": ranks}.items():
        monkeypatch.setenv(name, str(value))
    device = module.join(gpus)
    return device, state | {"visible": os.environ["CUDA_VISIBLE_DEVICES"]}


@pytest.mark.parametrize(
    ("script", "cure"),
    [
        ("cured_hangs", lambda cures, tensor: cures.all_have_one(tensor)),
        ("cured_hangs", lambda cures, tensor: cures.all_have_one(None)),
        ("cured_hangs", lambda cures, tensor: cures.mean_on_rank_0(tensor.sum())),
        ("cured_hangs", lambda cures, tensor: cures.add_up({"loss": tensor})),
        ("cured_fails", lambda cures, tensor: cures.gather(tensor)),
        ("cured_lies", lambda cures, tensor: cures.mean_loss(tensor)),
        ("cured_lies", lambda cures, tensor: cures.slowest(0.5)),
    ],
)
def test_a_cure_sends_nothing_of_the_cpu_through_nccl(solved, monkeypatch, script, cure):
    """Fake tensors have a device, here a GPU, and no numbers, so each cure ends as it sends."""
    sent = []

    class SentError(Exception):
        pass

    def collective(*args: object, **_: object) -> None:
        parts = [each for arg in args for each in (arg if isinstance(arg, list) else [arg])]
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
    ("name", "calls"),
    [
        ("validation", {"forward", "barrier"}),
        ("mean", {"all_reduce", "barrier"}),
        ("leftover", {"backward", "barrier"}),
    ],
)
def test_a_hang_shows_where_the_ranks_wait(name, calls):
    run = launch([*TWO, "hangs.py", name], limit=HANG_S)
    assert run.reason == "limit"
    assert {place.call for place in stacks.places(run).values()} == calls


@pytest.mark.parametrize(
    ("script", "name", "says"),
    [
        ("hangs.py", "order", "Detected mismatch between collectives on ranks"),
        ("hangs.py", "skipping", "Rank 1 failed to pass monitoredBarrier"),
        ("fails.py", "download", "No such file or directory: 'runs/fails/vocabulary.txt'"),
        ("fails.py", "predictions", "Is there a distributed collective mismatch"),
        ("fails.py", "heads", "Expected to have finished reduction in the prior iteration"),
        ("fails.py", "saving", "'runs/fails/model.part' -> 'runs/fails/model.pt'"),
    ],
)
def test_a_failure_says_what_the_lesson_says(script, name, says):
    level = "DETAIL" if name == "order" else "INFO"
    command, env = [*TWO, script, name], {"TORCH_DISTRIBUTED_DEBUG": level}
    tries = 10 if name == "saving" else 1  # a race that both ranks win if one of them comes late
    for _ in range(tries):
        run = launch(command, limit=30, env=env)
        if not run.ok:
            break
    assert not run.ok and run.reason == "finished"
    assert any(says in line.text for line in run.lines), run.lines


def test_without_buffers_the_forward_of_one_rank_waits_for_nobody():
    run = launch([*TWO, "hangs.py", "validation_without_batch_norm"], limit=60)
    assert run.reason == "finished" and "validation loss" in run.text(0)


def test_a_module_that_is_moved_trains_on_alone():
    run = launch([*TWO, "moved.py"], limit=60)
    said = [line.split()[-1] for line in run.text(0, "stdout").splitlines()]
    assert said == ["equal", "equal", "DIFFERENT"]


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
    """An unused parameter keeps gradients from being averaged; without buffers, only the second
    training forward sends anything.
    """
    Path("silent.py").write_text(SILENT)
    run = launch([*TWO, "silent.py"], limit=60)
    assert run.ok, run.lines
    one, other = [row["gradient"] for row in run.rows if "gradient" in row]
    assert one != pytest.approx(other)
    forwards = [row for row in run.rows if "training" in row and row["rank"] == 0]
    assert [row["evaluating"] for row in forwards] == [0, 0, 0]
    assert [row["training"] for row in forwards] == [0, 2, 0]
