"""Clusters for several tests of Slurm."""

from collections.abc import Iterator

import pytest
from support.practice_cluster import PracticeCluster
from support.slurm import NoSlurm, until

from course.clusters import slurm

HELLO = """
import os, socket, sys, time
from course import log

for step in range(3):
    log(step=step, steps=3, loss=1 / (step + 1))
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_STEP_GPUS")
line = " ".join(f"{name}={os.environ.get(name)}" for name in names)
line += f" visible={os.environ['CUDA_VISIBLE_DEVICES']!r}"
os.write(1, f"{line}\\n".encode())  # in one piece
if "ACCELERATE_MIXED_PRECISION" in os.environ:
    from accelerate import Accelerator

    accelerator = Accelerator()
    assert accelerator.num_processes == int(os.environ.get("WORLD_SIZE", 1))
    accelerator.wait_for_everyone()  # a rank that ends while another joins makes that one fail
if len(sys.argv) > 1:
    time.sleep(float(sys.argv[1]))
"""


@pytest.fixture
def recorded() -> slurm.Cluster:
    """The cluster of the recording, which replaces a real one where there is no Slurm."""
    return slurm.connect(NoSlurm)


@pytest.fixture(scope="module")
def practice() -> Iterator[PracticeCluster]:
    """A practice cluster of three nodes with four pretended GPUs each."""
    with PracticeCluster(nodes=3, gpus=4) as running:
        yield running


@pytest.fixture
def cluster(practice, tmp_path, monkeypatch) -> Iterator[slurm.Cluster]:
    """The practice cluster's Slurm, in a folder with a script; its jobs are ended afterwards."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/hello.py").write_text(HELLO)
    connected = slurm.Cluster(practice.commands)
    yield connected
    practice.commands.run("scancel", "--user=root")
    until(lambda: not connected.jobs())
