"""The HSDP script of lab 10c: one clear sentence for an impossible mesh."""

import pytest
from support import solutions

from course.launch import launch


@pytest.mark.slow
def test_ranks_that_do_not_divide_into_replicas_are_refused_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    solutions.write("10c_copies_of_shards", tmp_path / "src")
    command = ["torchrun", "--standalone", "--nproc-per-node", "3", "src/hsdp.py", "--replicas"]
    run = launch([*command, "2"], env={"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"})
    error = run.text(run.first_failed, "stderr").splitlines()[-1]
    assert error.endswith("3 ranks cannot make 2 replicas of equal size.")
