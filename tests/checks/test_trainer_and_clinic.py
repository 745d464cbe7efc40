"""Lab 04's scripts outside of its notebook: the trainer, and the symptoms of the clinic's runs."""

import importlib
import os
import sys
from pathlib import Path

import pytest
import torch
from support.solutions import write

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
    assert len((folder / "trainer.py").read_text().splitlines()) < 150


def test_one_process_trains_without_a_launcher_and_goes_on_from_its_snapshot():
    words = ["python", "trainer.py", "--pairs", "32", "--snapshot", "alone.pt", "--epochs"]
    first, second = launch([*words, "1"]), launch([*words, "2"])
    assert first.ok and second.ok, first.lines
    assert [row["step"] for row in first.rows if "step" in row] == [1, 2]
    assert [row["step"] for row in second.rows if "step" in row] == [3, 4]
    assert 0 <= second.rows[-1]["accuracy"] <= 1
    assert "rank 0 begins at step 2" in Path("alone.pt.rank0.log").read_text()


def test_a_gpu_that_is_not_there_is_a_sentence():
    run = launch(["python", "trainer.py", "--gpus", "2"])
    assert (
        run.text(0, "stderr")
        == "GPU 2 was asked for, and this box has 0: give --gpus other numbers, or none."
    )


@pytest.mark.parametrize(
    ("gpus", "ranks", "ends"),
    [
        ([0, 3], 2, None),
        ([0], 2, "2 ranks cannot share 1 GPU"),
        ([4], 1, "GPU 4 was asked for, and this box has 4"),
    ],
)
def test_gpus_are_chosen_by_number(folder, monkeypatch, gpus, ranks, ends):
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "join", raising=False)
    module, called = importlib.import_module("join"), []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(torch.cuda, "set_device", called.append)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: called[-1])
    monkeypatch.setattr(
        module.dist, "init_process_group", lambda backend: called.insert(0, backend)
    )
    for name, value in {"RANK": 1, "LOCAL_RANK": 1, "LOCAL_WORLD_SIZE": ranks}.items():
        monkeypatch.setitem(os.environ, name, str(value))
    if ends:
        with pytest.raises(SystemExit, match=ends):
            module.join(gpus)
    else:
        assert module.join(gpus) == torch.device("cuda", 3) and called == ["nccl", 3]


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
