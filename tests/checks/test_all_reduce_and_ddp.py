"""Labs 02, 03 and 03b outside their notebooks: what they leave open, and how they run on GPUs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from support import pretended, solutions
from torch.utils._python_dispatch import TorchDispatchMode

from course.checks.runner import session
from course.checks.tools.reference import Small, batch, loss_of
from course.launch import connect

ALL_REDUCE, DDP, OVERLAP = "02_all_reduce", "03_distributed_data_parallel", "03b_overlap"
# Runs a script until it moves its BERT to a device; logs the model's size and the device.
UNTIL_THE_MODEL = """
import runpy, sys
from types import SimpleNamespace
import torch.distributed as dist
from course import log, models

def end(size, device):
    log(size=size, device=str(device))
    if dist.is_initialized():
        dist.barrier()  # a rank that ends while another joins makes that one fail
    sys.exit()

def bert(size="tiny"):
    return SimpleNamespace(to=lambda device: end(size, device))

models.bert = bert
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable]:
    """The solved scripts of these labs, importable."""
    with solutions.importable(monkeypatch, tmp_path, ALL_REDUCE, DDP, OVERLAP) as load:
        yield load


@pytest.mark.slow
@pytest.mark.rest
def test_messages_may_travel_without_a_batch(tmp_path):
    """On the CPU, which the checks use, separate calls of `isend` and `irecv` work as well."""
    connect.warm_up()
    solutions.write(ALL_REDUCE, tmp_path)
    imports = "from course.given.messages import deliver, in_place\n"
    single = """from course.given.messages import in_place


def deliver(messages):
    for work in [message.op(message.tensor, message.peer) for message in messages]:
        work.wait()
"""
    for name in ("simple_ways", "ring"):
        script = tmp_path / f"{name}.py"
        assert imports in script.read_text()
        script.write_text(script.read_text().replace(imports, single))
    reports = session.run(tmp_path, ["simple_ways", "ring"])
    assert [report for report in reports if not report.ok] == []


@pytest.mark.parametrize(
    ("on_gpu", "size", "calls"),
    [(False, 2**10, 20), (False, 2**24, 1), (True, 2**10, 20), (True, 2**24, 16), (True, 2**28, 1)],
)
def test_short_calls_are_timed_several_at_once(scripts, monkeypatch, on_gpu, size, calls):
    """A GPU finishes a call of 16 MiB faster than the ranks can start it together."""
    timing, made = scripts("timing"), []
    monkeypatch.setattr(dist, "barrier", lambda: None)
    monkeypatch.setattr(timing, "now", lambda device: 10.0 * len(made))
    tensor = SimpleNamespace(is_cuda=on_gpu, nbytes=size, device=None)
    assert timing.timed(made.append, tensor) == 10.0
    assert len(made) == calls


class OnOneDevice(TorchDispatchMode):
    """Refuses operations with a CPU tensor, because a copy from the CPU to a GPU blocks."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        tensors = torch.utils._pytree.tree_leaves((args, kwargs, result))
        devices = {leaf.device.type for leaf in tensors if isinstance(leaf, torch.Tensor)}
        assert devices <= {"meta"}, f"{function} in backward, with tensors on {devices}"
        return result


@pytest.mark.parametrize("name", ["AfterBackward", "Flat", "Overlapped", "Bucketed"])
def test_a_step_waits_for_the_gpu_once_and_after_backward(scripts, monkeypatch, name):
    """The device `meta` stands for the GPU: its values cannot be read, and `tolist` reports it."""
    done, read = SimpleNamespace(wait=lambda: None), []
    monkeypatch.setattr(dist, "get_world_size", lambda: 2)
    monkeypatch.setattr(dist, "broadcast", lambda tensor, src: None)
    monkeypatch.setattr(dist, "all_reduce", lambda tensor, async_op=False: done)
    module = scripts("my_ddp" if name in ("AfterBackward", "Flat") else "my_buckets")
    options = {"cap_mb": 1e-4} if name == "Bucketed" else {}
    replica = getattr(module, name)(Small(seed=0).to("meta"), **options)
    loss = loss_of(replica, [part.to("meta") for part in batch(0, rank=0)], heads=(0,))
    monkeypatch.setattr(
        torch.Tensor, "tolist", lambda flags: read.append(len(flags)) or [1.0] * len(flags)
    )
    with OnOneDevice():
        loss.backward()
        assert not read, "backward waits for the GPU"
        replica.finish()
    assert read == [len(replica.trained)], "finish() should read the flags of all buckets at once"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "ranks", "gpus", "seen"),
    [
        ("compare.py 1 --rounds 1", 2, 2, {("wide", "cuda:0"), ("wide", "cuda:1")}),
        ("compare.py 1 --rounds 1", 2, 1, {("tiny", "cpu")}),
        ("single.py", 1, 1, {("tiny", "cuda")}),
        ("single.py --device cpu", 1, 1, {("tiny", "cpu")}),
    ],
)
def test_model_and_device_are_those_to_compare(tmp_path, monkeypatch, command, ranks, gpus, seen):
    """Ranks on GPUs compare wrappers of a model whose gradients take time to send.

    The single process computes on the device in its option, so it can use the ranks' device.
    """
    monkeypatch.chdir(tmp_path)
    solutions.write(DDP, tmp_path)
    solutions.write(OVERLAP, tmp_path)
    (tmp_path / "until.py").write_text(UNTIL_THE_MODEL)
    run = pretended.on_gpus(tmp_path, "until.py", *command.split(), ranks=ranks, gpus=gpus)
    assert run.ok, pretended.fault(run)
    assert {(row["size"], row["device"]) for row in run.rows} == seen
