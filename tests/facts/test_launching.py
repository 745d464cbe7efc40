"""What the course says about torchrun, accelerate and the ways to start processes."""

import importlib
import importlib.metadata
import inspect
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support.ports import free_port
from support.says import says
from torch.distributed import run
from torch.distributed.elastic.multiprocessing import errors
from torch.distributed.elastic.rendezvous import (
    RendezvousConnectionError,
    RendezvousParameters,
    c10d_rendezvous_backend,
)
from torch.distributed.elastic.rendezvous import dynamic_rendezvous as rendezvous
from torch.distributed.flight_recorder.components import types as flight_recorder_types

# It prints in one write, because the processes share their output.
REPORTS = """
import os
values = [os.environ.get(name, "none") for name in ("RANK", "WORLD_SIZE")]
os.write(1, f"{' '.join(values)}\\n".encode())
"""


def config(monkeypatch: pytest.MonkeyPatch, *options: str):
    """The launch configuration that torchrun makes of a command line."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return run.config_from_args(run.parse_args([*options, "script.py"]))[0]


def test_torchrun_gives_a_rank_one_thread(monkeypatch, caplog):
    says("00_start_here", "`OMP_NUM_THREADS`")
    monkeypatch.setenv("OMP_NUM_THREADS", "to be taken away")  # and put back afterwards
    config(monkeypatch, "--nproc-per-node", "2")
    assert os.environ["OMP_NUM_THREADS"] == "1"
    assert "Setting OMP_NUM_THREADS" in inspect.getsource(run.config_from_args)


def test_a_rank_per_gpu():
    says("00_start_here", "`--nproc-per-node gpu`")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="Cuda is not available"):
            run.determine_local_world_size("gpu")


def test_elastic_launches(monkeypatch):
    says("04_ddp_in_practice", "`torchrun --nnodes 2:4 --max-restarts 3`", "three times")
    settings = config(monkeypatch, "--nnodes", "2:4", "--max-restarts", "3")
    assert (settings.min_nodes, settings.max_nodes, settings.max_restarts) == (2, 4, 3)
    assert config(monkeypatch, "--nnodes", "2").max_restarts == 0


def test_all_end_when_the_machine_of_the_rendezvous_has_failed():
    says("04_ddp_in_practice", "`--rdzv-endpoint`")
    port = free_port()

    def agent(is_host: bool) -> tuple:
        parameters = RendezvousParameters("c10d", f"localhost:{port}", "job", 1, 2, is_host=is_host)
        return c10d_rendezvous_backend.create_backend(parameters)

    host, store = agent(True)
    other, _ = agent(False)
    host.set_state(b"two machines")
    assert other.get_state()[0] == b"two machines"
    del host, store
    with pytest.raises(RendezvousConnectionError):
        other.get_state()


def test_how_long_agents_wait_for_each_other():
    says("09_clusters", "ten minutes")
    says("09b_queue_and_restart", "3 × 5 s")
    assert rendezvous.RendezvousTimeout().join.total_seconds() == 600
    made = inspect.signature(rendezvous.DynamicRendezvousHandler.from_backend).parameters
    assert made["keep_alive_interval"].default == 5
    assert made["keep_alive_max_attempt"].default == 3


def test_agents_are_numbered_by_name():
    says("09_clusters", "alphabetical order", "node10")
    made = rendezvous._NodeDescGenerator().generate
    nodes = [made("node2"), made("node10"), made("node1")]
    assert [node.addr for node in sorted(nodes)] == ["node1", "node10", "node2"]


def test_the_shared_store_can_be_switched_off():
    says("04_ddp_in_practice", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE")
    says("04c_wrong_numbers", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE")
    assert 'os.getenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "0")' in inspect.getsource(rendezvous)


def test_record_brings_the_traceback_into_the_report(tmp_path, monkeypatch):
    says("04_ddp_in_practice", "`@record`")

    @errors.record
    def main():
        raise ValueError("the fault of rank 1")

    file = tmp_path / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(file))
    with pytest.raises(ValueError, match="rank 1"):
        main()
    for error_file, recorded in (("<N/A>", False), (str(file), True)):
        failure = errors.ProcessFailure(1, 4711, 1, error_file)
        report = str(errors.ChildFailedError("train.py", {1: failure}))
        assert "exitcode  : 1" in report
        assert ("the fault of rank 1" in report) == recorded
        assert ("To enable traceback see" in report) != recorded


def test_the_old_launcher():
    says("05_mixed_precision", "`torch.distributed.launch`")
    says("03_distributed_data_parallel", "`torch.distributed.launch`")
    launch = importlib.import_module("torch.distributed.launch")
    assert "deprecated" in launch.__doc__ and "torchrun" in launch.__doc__


def test_the_programme_that_compares_the_recorders():
    says("04b_clinic", "`torchfrtrace`")
    commands = importlib.metadata.distribution("torch").entry_points.select(name="torchfrtrace")
    assert list(commands)
    says("04b_clinic", "torch 2.11")
    accepted = '"gloo"' in inspect.getsource(flight_recorder_types.Op)
    assert accepted == (torch.__version__ >= (2, 13))


def test_the_debug_server():
    says("04b_clinic", "`torch.distributed.debug.start_debug_server`")
    from torch.distributed import debug

    options = inspect.signature(debug.start_debug_server).parameters
    assert {"dump_dir", "dump_interval", "enabled_dumps"} <= set(options)


@pytest.mark.sampled
@pytest.mark.slow
def test_gnus_openmp_has_no_helpers_in_a_child():
    says("00_start_here", "GNU's OpenMP", "waits forever")
    assert list(Path(torch.__file__).parent.glob("lib/libgomp*"))
    code = """
import os, signal, torch
torch.set_num_threads(2)
torch.ones(1000, 1000).exp()
child = os.fork()
if child == 0:
    signal.alarm(2)  # ends the child, since it waits
    torch.ones(1000, 1000).exp()
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True)
    assert int(done.stdout) == -signal.SIGALRM


def test_cuda_refuses_to_go_on_in_a_child():
    says("00_start_here", "before the fork")
    assert "Cannot re-initialize CUDA in forked subprocess" in inspect.getsource(torch.cuda)


def test_spawn_starts_a_fresh_python():
    says("00_start_here", "`torch.multiprocessing.spawn`")
    default = inspect.signature(torch.multiprocessing.spawn).parameters["start_method"].default
    assert default == "spawn"


def test_accelerate_runs_torchs_launcher():
    says("00_start_here", "`accelerate launch`")
    from accelerate.commands import launch

    assert "import torch.distributed.run" in inspect.getsource(launch.multi_gpu_launcher)


def accelerated(tmp_path: Path, *options: str, **env: str) -> list[str]:
    """The lines that the processes of `accelerate launch` print, sorted."""
    script = tmp_path / "reports.py"
    script.write_text(REPORTS)
    command = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", *options]
    home = {"HF_HOME": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}  # no saved configuration
    done = subprocess.run(
        [*command, str(script)], capture_output=True, text=True, env=os.environ | home | env
    )
    return sorted(line for line in done.stdout.splitlines() if line)


@pytest.mark.sampled
@pytest.mark.slow
def test_accelerate_on_a_cpu_starts_one_process_unless_told(tmp_path):
    says("00_start_here", "`--num_processes 2`")
    says("07b_six_ways", "`accelerate launch --cpu --num_processes 2`")
    for options in (["--num_processes", "2"], ["--cpu", "--num_processes", "2"]):
        assert accelerated(tmp_path, *options) == ["none none"]
    launch_options = ["--multi_gpu", "--num_processes", "2"]
    assert accelerated(tmp_path, *launch_options, ACCELERATE_USE_CPU="1") == ["0 2", "1 2"]


@pytest.mark.sampled
@pytest.mark.slow
def test_ddp_under_detail_over_gloo():
    says("04b_clinic", "torch 2.15")
    code = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
DistributedDataParallel(torch.nn.Linear(1, 1))
"""
    for level, crashes in (("DETAIL", True), ("INFO", False)):
        env = os.environ | {"TORCH_DISTRIBUTED_DEBUG": level}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env)
        assert bool(done.returncode) == crashes, done.stderr.decode()


def test_a_rank_near_its_gpu(monkeypatch):
    says("04_ddp_in_practice", "`torchrun --numa-binding node`")
    bound = config(monkeypatch, "--numa-binding", "node")
    assert bound.numa_options.affinity_mode.value == "node"
