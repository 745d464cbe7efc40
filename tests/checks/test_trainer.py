"""Lab 04's scripts outside its notebook: the trainer, its launchers, its data."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from support import solutions
from support.patience import PATIENCE_S

from course import models
from course.data import nli
from course.launch import connect
from course.launch.client import launch

pytestmark = [pytest.mark.slow, pytest.mark.rest]

LAB = "04_ddp_in_practice"
TWO = ["torchrun", "--standalone", "--nproc-per-node", "2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the solved scripts of the lab, the working directory of each test."""
    connect.warm_up()
    folder = tmp_path_factory.mktemp("lab")
    solutions.write(LAB, folder)
    # The first DDP of a process imports much, so wait for warm ranks that have imported it.
    launch([*TWO, str(folder / "moved.py")], limit=PATIENCE_S)
    return folder


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


def test_one_process_trains_without_a_launcher_and_goes_on_from_its_snapshot():
    words = ["python", "train.py", "--pairs", "32", "--snapshot", "alone.pt", "--epochs"]
    first, second = launch([*words, "1"]), launch([*words, "2"])
    assert first.ok and second.ok, first.lines
    assert [row["step"] for row in first.rows if "step" in row] == [1, 2]
    assert [row["step"] for row in second.rows if "step" in row] == [3, 4]
    assert 0 <= second.rows[-1]["accuracy"] <= 1
    assert "rank 0 begins at step 2" in Path("alone.pt.rank0.log").read_text()


def test_the_learning_rate_belongs_to_the_ranks_that_run():
    """Two ranks warm up for two steps, one rank goes on: its global batch is half of theirs."""
    words = ["train.py", "--gpus", "--pairs", "64", "--snapshot", "fewer.pt", "--epochs"]
    first, second = launch([*TWO, *words, "1"]), launch(["python", *words, "2"])
    assert first.ok and second.ok, first.lines + second.lines
    rates = {row["step"]: row["rate"] for row in first.rows + second.rows if "rate" in row}
    assert rates[2] == pytest.approx(5e-4 * 2 / 10)
    assert rates[3] == pytest.approx(5e-4 * 0.5**0.5 * 3 / 10)


def test_a_gpu_that_is_not_there_is_a_sentence():
    run = launch(["python", "train.py", "--gpus", "2"])
    assert (
        run.text(0, "stderr")
        == "GPU 2 was asked for, and this machine has 0: give --gpus other numbers, or none."
    )


@pytest.fixture
def solved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Import a script of the lab into this process; the import is undone after the test."""
    with solutions.importable(monkeypatch, folder, LAB) as load:
        yield load


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
        ([4], 1, "GPU 4 was asked for, and this machine has 4"),
    ],
)
def test_gpus_that_cannot_be_had_are_a_sentence(solved, monkeypatch, gpus, ranks, says):
    with pytest.raises(SystemExit, match=says):
        join_as_rank_1(solved("join"), monkeypatch, gpus, ranks)


def join_as_rank_1(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, gpus: list[int] | None, ranks: int
) -> tuple[torch.device, dict]:
    """What `join` returns on rank 1 of a machine with four GPUs, and what it has set up by then."""
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


def test_a_module_that_is_moved_trains_on_alone():
    run = launch([*TWO, "moved.py"], limit=PATIENCE_S)
    lines = [line.split()[-1] for line in run.text(0, "stdout").splitlines()]
    assert lines == ["equal", "equal", "DIFFERENT"]


def test_it_trains_a_checkpoint_on_pairs_by_name(tmp_path):
    """The names are folders with the layout of `bert-base-cased` and MultiNLI on the Hub."""
    model, pairs = tmp_path / "model", tmp_path / "pairs"
    models.bert().save_pretrained(model)
    nli.make_tokenizer().save_pretrained(model)
    pairs.mkdir()
    row = {"premise": "the young pianist", "hypothesis": "the musician", "label": 0}
    for split, size in (("train", 16), ("validation_matched", 4)):
        (pairs / f"{split}.jsonl").write_text(size * (json.dumps(row) + "\n"))
    names = ["--model", str(model), "--data", str(pairs), "--pairs", "16", "--batch", "4"]
    words = [*names, "--gpus", "--epochs", "1", "--snapshot", "named.pt"]
    run = launch([*TWO, "train.py", *words], env={"HF_HOME": str(tmp_path / "cache")})
    assert run.ok, run.lines
    assert [row["step"] for row in run.rows if "step" in row] == [1]
