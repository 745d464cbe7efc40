"""What the course says about torch's collectives, their timeouts and their records."""

import inspect
import mmap
import pickle
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from support.says import says
from torch._C._distributed_c10d import _dump_fr_trace
from torch.distributed import constants
from torch.distributed import distributed_c10d as c10d

from course.explore.models import all_reduce


def test_the_time_outs():
    says("00_start_here", "ten minutes")
    says("04b_clinic", "`init_process_group(timeout=...)`")
    says("07c_asynchronous", "30 minutes", "10 minutes")
    says("09b_queue_and_restart", "half an hour", "ten minutes")
    assert constants.default_pg_timeout == timedelta(minutes=30)
    if constants.default_pg_nccl_timeout:  # None where torch was built without NCCL
        assert constants.default_pg_nccl_timeout == timedelta(minutes=10)
    assert "timeout" in inspect.signature(dist.init_process_group).parameters


def test_a_plain_python_knows_no_rank(monkeypatch):
    says("00_start_here", "environment variable RANK expected")
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(ValueError, match="environment variable RANK expected"):
        dist.init_process_group("gloo")


def test_a_group_without_a_named_backend_takes_that_of_the_accelerator(monkeypatch):
    for device, backend in (("cuda", "nccl"), ("cpu", "gloo")):
        accelerator = torch.device(device)
        monkeypatch.setattr(
            torch._C, "_get_accelerator", lambda accelerator=accelerator: accelerator
        )
        monkeypatch.setattr(  # which 2.15 uses instead
            torch.accelerator,
            "current_accelerator",
            lambda check_available, accelerator=accelerator: accelerator,
        )
        config = dist.distributed_c10d.BackendConfig(dist.Backend("undefined"))
        assert config.get_device_backend_map() == {device: backend}


def test_what_nccl_takes_and_when_it_connects():
    says("03_distributed_data_parallel", "`init_process_group(device_id=device)`")
    says("00_start_here", "CPU tensor", '`"cpu:gloo,cuda:nccl"`')
    text = " ".join(dist.init_process_group.__doc__.split())
    assert "NCCL: the communicator is immediately formed" in text
    assert dist.Backend.backend_capability["nccl"] == ["cuda"]
    both = dist.distributed_c10d.BackendConfig(dist.Backend("cpu:gloo,cuda:nccl"))
    assert both.get_device_backend_map() == {"cpu": "gloo", "cuda": "nccl"}


def test_a_barrier_without_a_device_takes_a_guess():
    says("00_start_here", "`barrier()`")
    assert "the global rank mod local device count" in " ".join(dist.barrier.__doc__.split())


def test_since_2_15_nccl_without_a_device_connects_at_once_too(monkeypatch):
    says("00_start_here", "torch 2.15")
    if torch.__version__ < (2, 15):
        assert not hasattr(c10d, "_nccl2_device"), "another class was the default"
        return
    registered = {}
    monkeypatch.delenv("TORCH_DIST_USE_NCCL2", raising=False)
    monkeypatch.setattr(
        c10d.Backend, "register_backend", lambda name, maker, **_: registered.update({name: maker})
    )
    c10d._register_builtin_nccl_backend()
    assert registered == {"nccl": c10d._create_nccl2_process_group}

    group = SimpleNamespace(bound_device_id=None)
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    guess = c10d._nccl2_device(SimpleNamespace(enable_reconfigure=False, process_group=group))
    assert guess == group.bound_device_id == torch.device("cuda", 1)  # and a barrier takes it
    if hasattr(c10d, "ProcessGroupNCCL2"):  # not where torch was built without CUDA
        text = " ".join(c10d.ProcessGroupNCCL2.comm_ptr.__doc__.split())
        assert "a single communicator, created in its constructor" in text


def test_the_names_of_the_two_halves():
    says(
        "10_sharding",
        "all_gather_single",
        "all_gather_into_tensor",
        "reduce_scatter_single",
        "reduce_scatter_tensor",
    )
    new = {"reduce_scatter_single", "all_gather_single"}
    assert (new <= set(dir(dist))) == (torch.__version__ >= (2, 13))
    assert {"reduce_scatter_tensor", "all_gather_into_tensor"} <= set(dir(dist))


def test_where_halving_and_doubling_loses_to_the_ring():
    says("02_all_reduce", "halving and doubling")
    for ranks in range(2, 17):
        ring, halving = (all_reduce.plan(name, ranks) for name in ("ring", "halving-doubling"))
        assert halving.messages <= ring.messages
        a_power_of_two = ranks & (ranks - 1) == 0
        assert (halving.buffers > ring.buffers) == (not a_power_of_two)


@pytest.mark.usefixtures("group_of_one")
def test_a_detached_parameter_shares_its_memory():
    says("hints", "`.detach()`")
    parameter = torch.nn.Parameter(torch.ones(1))
    parameter.detach().zero_()
    dist.broadcast(parameter.detach(), src=0)
    assert parameter.item() == 0 and parameter.requires_grad


def test_float32_cannot_hold_every_length():
    says("hints", "float32")
    length = 16 * 2**20 + 1
    assert torch.tensor(float(length)).item() != length == torch.tensor([length]).item()


@pytest.mark.usefixtures("group_of_one")
def test_the_flight_recorder_keeps_2000_collectives():
    says("04b_clinic", "2000")
    for _ in range(2010):
        dist.all_reduce(torch.ones(1))
    assert len(pickle.loads(_dump_fr_trace())["entries"]) == 2000


def test_what_the_watchdog_reads():
    says(
        "04b_clinic",
        "`TORCH_FR_DUMP_TEMP_FILE`",
        "`TORCH_FR_BUFFER_SIZE`",
        "`TORCH_NCCL_DUMP_ON_TIMEOUT=1`",
    )
    says(
        "09_clusters",
        "Watchdog caught collective operation timeout",
        "torch 2.15",
        "Aborting process on rank",
    )
    built = Path(torch.__file__).parent / "lib"
    if not (built / "libtorch_cuda.so").exists():
        pytest.skip("this torch was built without CUDA")
    libraries = [built / "libtorch_cuda.so", built / "libtorch_cpu.so"]
    for name in ("FR_DUMP_TEMP_FILE", "FR_BUFFER_SIZE", "NCCL_DUMP_ON_TIMEOUT"):
        assert any(_holds(library, f"TORCH_{name}") for library in libraries)
    assert _holds(libraries[0], "Watchdog caught collective operation timeout")
    for words in ("Aborting process on rank ", "timeout - timeout watchdog detected"):
        assert _holds(libraries[0], words) or torch.__version__ < (2, 15)


def _holds(library: Path, words: str) -> bool:
    """Whether a library file contains these words, without reading its 500 MB at once."""
    with (
        library.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as code,
    ):
        return code.find(words.encode()) >= 0
