"""The lab's script that joins as a task of Slurm takes its GPU, however Slurm shows the GPUs."""

import runpy
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from support import solutions

TASK = {
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_NTASKS": "4",
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NODELIST": "node[1-2]",
    "SLURMD_NODENAME": "node2",
}
NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@pytest.mark.parametrize(
    ("shown", "backend", "taken"),
    [(2, "nccl", "cuda:1"), (1, "nccl", "cuda:0"), (0, "gloo", None)],
    ids=["all GPUs of the node", "its own GPU alone", "no GPU"],
)
def test_the_second_task_of_a_node_takes_its_gpu(monkeypatch, tmp_path, shown, backend, taken):
    joined, chosen = {}, []
    for name, value in (TASK | dict.fromkeys(NAMES, "99")).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: shown)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setattr(
        dist,
        "init_process_group",
        lambda backend, device_id: joined.update(backend=backend, device=device_id),
    )
    monkeypatch.setattr(dist, "get_rank", lambda: 3)
    monkeypatch.setattr(dist, "get_world_size", lambda: 4)
    for name in ("barrier", "destroy_process_group"):
        monkeypatch.setattr(dist, name, lambda: None)
    solutions.write("09b_queue_and_restart", tmp_path)
    runpy.run_path(str(Path(tmp_path, "from_slurm.py")), run_name="__main__")
    assert joined == {"backend": backend, "device": taken and torch.device(taken)}
    assert chosen == ([torch.device(taken)] if taken else [])
