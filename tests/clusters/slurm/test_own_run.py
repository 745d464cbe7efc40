"""`course run` as srun's program: one rank per task, judged together."""

import json
import sys

import pytest

from course.clusters import slurm
from course.core import CourseError

pytestmark = [pytest.mark.slow, pytest.mark.rest]

HANGS = """
import os
import torch.distributed as dist

rank = int(os.environ["SLURM_PROCID"])
store = f"file://{os.getcwd()}/store"
dist.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
if rank == 0:
    dist.barrier()
else:
    dist.broadcast_object_list([None], src=0)
"""


def test_the_tasks_of_a_step_are_judged_together(
    cluster: slurm.Cluster, tmp_path, practice
) -> None:
    (tmp_path / "hangs.py").write_text(HANGS)
    run = [sys.executable, "-m", "course", "run", "--rank", "--patience", "5", "--json", "f.json"]
    with pytest.raises(CourseError):  # srun ends with the exit code of its tasks
        practice.commands.run("srun", "--ntasks=2", "--nodes=2", *run, "hangs.py")
    (finding,) = json.loads((tmp_path / "f.json").read_text())["findings"]
    assert finding["what"] == "different calls"
    assert "broadcast_object_list at hangs.py:" in finding["says"]
    assert not list(tmp_path.glob(".course-run-*"))
