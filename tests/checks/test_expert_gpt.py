"""The GPT of lab 13b: the same on every mesh, and one clear sentence for an impossible mesh."""

from pathlib import Path

import pytest
from support import solutions
from support.patience import PATIENCE_S

from course.launch import Run, connect, launch

SAME = 1e-5  # the largest difference to the weights of one process


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The solved scripts of the lab in src/, and the weights of one process in runs/."""
    connect.warm_up()
    folder = tmp_path_factory.mktemp("lab_13b")
    (folder / "src").mkdir()
    solutions.write("13b_experts", folder / "src")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert train(1).ok
    return folder


def train(ranks: int, *options: str) -> Run:
    """Train on this many ranks."""
    command = ["torchrun", "--standalone", "--nproc-per-node", str(ranks), "src/train_experts.py"]
    env = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    return launch([*command, *options], limit=PATIENCE_S, env=env)


@pytest.mark.rest
@pytest.mark.parametrize(("ranks", "copies"), [(2, 1), (2, 2), (4, 1), (4, 2), (8, 2)])
def test_every_mesh_ends_with_the_weights_of_one_process(folder, ranks, copies, monkeypatch):
    monkeypatch.chdir(folder)
    run = train(ranks, "--copies", str(copies))
    assert run.ok and run.metrics["off"].max() < SAME


@pytest.mark.rest
@pytest.mark.parametrize("wrong", ["group", "count"])
def test_a_wrong_average_shows_in_the_weights(folder, wrong, monkeypatch):
    monkeypatch.chdir(folder)
    run = train(4, "--copies", "2", "--wrong", wrong)
    assert run.ok and run.metrics["off"].max() > 1e-3


def test_a_limit_drops_choices_and_training_goes_on(folder, monkeypatch):
    monkeypatch.chdir(folder)
    run = train(2, "--steps", "3", "--capacity", "1", "--adamw", "--balance", "0")
    assert run.ok and run.metrics["dropped"].dropna().between(0.01, 1).all()


@pytest.mark.parametrize(
    ("ranks", "copies", "sentence"),
    [
        (2, 3, "2 ranks cannot hold --copies 3 of the experts and share 16 samples."),
        (3, 1, "3 ranks cannot hold --copies 1 of the experts and share 16 samples."),
    ],
)
def test_a_mesh_that_cannot_be_is_refused_in_one_sentence(
    folder, ranks, copies, sentence, monkeypatch
):
    monkeypatch.chdir(folder)
    run = train(ranks, "--copies", str(copies))
    assert not run.ok
    assert run.text(run.first_failed, "stderr").splitlines()[-1].endswith(sentence)
