"""The GPT of lab 11c: the same on every mesh, and one clear sentence for an impossible mesh."""

from pathlib import Path

import pytest
from support import solutions
from support.patience import PATIENCE_S

from course.launch import Run, connect, launch

SAME = 1e-6  # the largest difference to the weights of one process


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The solved scripts of the lab in src/, and the weights of one process in runs/."""
    connect.warm_up()
    folder = tmp_path_factory.mktemp("lab_11c")
    (folder / "src").mkdir()
    solutions.write("11c_three_ways", folder / "src")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert train("1 1 1").ok
    return folder


def train(mesh: str, *options: str, ranks: int | None = None, script: str = "three_ways.py") -> Run:
    """Train on a mesh, with `ranks` ranks, or with as many as the mesh needs."""
    data, pipeline, tensor = map(int, mesh.split())
    command = ["torchrun", "--standalone", "--nproc-per-node"]
    command += [str(ranks or data * pipeline * tensor), f"src/{script}", "--mesh"]
    env = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    return launch([*command, *mesh.split(), *options], limit=PATIENCE_S, env=env)


@pytest.mark.rest
@pytest.mark.parametrize("mesh", ["2 1 1", "1 1 4", "1 4 1", "1 2 2", "2 2 1", "2 2 2"])
def test_every_mesh_ends_with_the_weights_of_one_process(folder, mesh, monkeypatch):
    monkeypatch.chdir(folder)
    run = train(mesh)
    assert run.ok and run.metrics["off"].max() < SAME


@pytest.mark.parametrize("what", ["data", "tied"])
def test_what_is_forgotten_shows_in_the_weights(folder, what, monkeypatch):
    monkeypatch.chdir(folder)
    run = train("2 1 1" if what == "data" else "1 2 1", "--forget", what)
    assert run.ok and run.metrics["off"].max() > 1e-3


@pytest.mark.parametrize(
    ("script", "mesh", "ranks", "sentence"),
    [
        ("three_ways.py", "1 2 2", 2, "A mesh of 1 x 2 x 2 takes 4 ranks, and there are 2."),
        ("laptop64.py", "1 2 1", 1, "A mesh of 1 x 2 x 1 takes 2 ranks, and there are 1."),
        ("three_ways.py", "3 1 1", 3, "3 replicas cannot share 8 micro-batches evenly."),
        ("three_ways.py", "1 1 3", 3, "3 ranks cannot share 256 rows, columns or heads evenly."),
        ("three_ways.py", "1 5 1", 5, "5 stages cannot share 4 layers evenly."),
    ],
)
def test_a_mesh_that_cannot_be_is_refused_in_one_sentence(
    folder, script, mesh, ranks, sentence, monkeypatch
):
    monkeypatch.chdir(folder)
    run = train(mesh, ranks=ranks, script=script)
    assert not run.ok
    assert run.text(run.first_failed, "stderr").splitlines()[-1].endswith(sentence)
