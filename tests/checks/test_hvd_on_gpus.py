"""Lab 06's `hvd` on GPUs: the GPU that its thread uses, and the GPU where its state arrives."""

from pathlib import Path

import pytest
from support.pretended import on_gpus
from support.solutions import write

from course.launch import launch

# Each rank prints its device, the average of 1 and 2, and the GPU of the engine's thread.
AVERAGE = """
import hvd
import torch
from course.given.horovod.collectives import backend
from course.given.horovod.engine import Engine

hvd.init()
on_gpus = torch.cuda.device_count() >= hvd.local_size()
device = torch.device("cuda", hvd.local_rank()) if on_gpus else torch.device("cpu")
if on_gpus:
    torch.cuda.set_device(device)
settle, seen = Engine._settle, []
Engine._settle = lambda *args: (seen.append(torch.cuda.current_device()), settle(*args))
tensor = torch.full((2,), hvd.rank() + 1.0, device=device)
hvd.allreduce_(tensor)
print(backend(), hvd.engine().cycle_s, tensor.device, tensor.tolist(), seen)
hvd.shutdown()
"""
# Sends a tensor inside an object; torch takes it for one that was saved on the root's GPU.
OBJECTS = """
import hvd
import torch

def restore(storage, location):
    assert location != "the root's GPU", "a tensor goes to the root's GPU"

torch.serialization.register_package(0, lambda storage: "the root's GPU", restore)
hvd.init()
print(hvd.broadcast_object({"momentum": torch.ones(2)})["momentum"].tolist())
hvd.shutdown()
"""


# Rank 1 has joined when rank 0 averages for the second time, so it makes zeros on its own GPU.
UNEVEN = """
import hvd
import torch

hvd.init()
device = torch.device("cuda", hvd.local_rank())
torch.cuda.set_device(device)
means = [hvd.allreduce(torch.ones(2, device=device), name="x") for _ in range(2 - hvd.rank())]
print([mean.tolist() for mean in means], hvd.join())
hvd.shutdown()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the solved scripts of the lesson, and the scripts above."""
    write("06_horovod_style", tmp_path)
    (tmp_path / "average.py").write_text(AVERAGE)
    (tmp_path / "objects.py").write_text(OBJECTS)
    (tmp_path / "uneven_on_gpus.py").write_text(UNEVEN)
    return tmp_path


def test_the_engine_works_on_the_gpu_of_its_rank(folder):
    """A thread starts on GPU 0; a switch back to it would open a context there on every rank."""
    run = on_gpus(folder, "average.py", ranks=2, gpus=2)
    assert run.ok, run.lines
    assert [run.text(rank, "stdout") for rank in (0, 1)] == [
        f"cpu:gloo,cuda:nccl 0.001 cuda:{rank} [1.5, 1.5] [{rank}]" for rank in (0, 1)
    ]


def test_with_fewer_gpus_than_ranks_all_is_on_the_cpu(folder):
    run = on_gpus(folder, "average.py", ranks=2, gpus=1)
    assert run.ok, run.lines
    assert run.text(1, "stdout").startswith("gloo 0.02 cpu [1.5, 1.5]")


@pytest.mark.slow
def test_a_rank_that_has_joined_makes_its_zeros_on_its_own_gpu(folder):
    run = on_gpus(folder, "uneven_on_gpus.py", ranks=2, gpus=2)
    assert run.ok, run.lines
    assert run.text(0, "stdout") == "[[1.0, 1.0], [0.5, 0.5]] 0"
    assert run.text(1, "stdout") == "[[1.0, 1.0]] 0"


def test_tensors_in_objects_arrive_on_the_cpu(folder):
    """Unpickled as sent, they would go to the GPU of the rank that sent them."""
    run = launch(["python", str(folder / "objects.py")])
    assert run.ok, run.lines
    assert run.text(0, "stdout") == "[1.0, 1.0]"
