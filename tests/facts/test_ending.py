"""What the course says about how a script on ranks should end."""

import re
from pathlib import Path

import pytest
from support.patience import PATIENCE_S
from support.says import says

from course.launch import Run, launch

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

# Trains and ends 200 times in one process, because only some of the ends hang.
ROUNDS = """
import os, sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

model_first = sys.argv[1] == "model"
rank, store = int(os.environ["RANK"]), dist.FileStore("store", 2)


def train(number):
    own = dist.PrefixStore(str(number), store)
    dist.init_process_group("gloo", store=own, rank=rank, world_size=2)
    model = DistributedDataParallel(torch.nn.Linear(8, 8))
    model(torch.ones(1, 8)).sum().backward()
    total = torch.zeros(())
    dist.all_reduce(total)
    dist.barrier()
    if not model_first:
        dist.destroy_process_group()


for number in range(200):
    train(number)
    if model_first:
        dist.destroy_process_group()
"""
# A rank that hangs is not inside a call but just after one, where the model is freed.
FREEING = re.compile(r'Current thread .*\n  File ".*rounds.py", line \d+ in <module>')


@pytest.fixture
def rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that runs the rounds; its argument is destroyed first: "model" or "group"."""
    monkeypatch.chdir(tmp_path)
    Path("rounds.py").write_text(ROUNDS)

    def run(first: str, limit: float) -> Run:
        command = ["torchrun", "--standalone", "--nproc-per-node", "2", "rounds.py", first]
        return launch(command, limit=limit)

    return run


def test_a_script_can_hang_whose_model_goes_after_its_group(rounds):
    says("03_distributed_data_parallel", "freed")
    limit, hangs = 20, False
    while not hangs and limit < PATIENCE_S:  # on a busy machine it had not come that far, or failed
        run = rounds("group", limit)
        assert not run.ok, "torch has mended it"
        hangs, limit = any(FREEING.search(run.text(rank)) for rank in (0, 1)), 2 * limit
    assert hangs


def test_a_script_ends_whose_model_goes_before_its_group(rounds):
    assert rounds("model", limit=PATIENCE_S).ok
