"""What lab 13 says about torch's own context parallelism, tried on two ranks, and about bytes."""

from pathlib import Path

import pytest
import torch
from support import on_rank_context, solutions
from support.patience import PATIENCE_S
from support.says import says
from torch.distributed.tensor.experimental import _attention

from course.checks.runner.on_ranks import CheckRanks
from course.given.published import LINKS

LAB = "13_long_sequences"


@pytest.mark.slow
@pytest.mark.sampled
def test_torchs_context_parallelism_needs_a_gpu_and_misses_a_function_imported_by_name():
    says(LAB, "torch 2.13 ends with a `NotImplementedError`")
    says(LAB, "each query sees the keys of its own rank only")
    results = CheckRanks(Path()).call(2, on_rank_context.outcome, limit=PATIENCE_S)
    assert all("for_cpu" in rank["error"] for rank in results)
    assert all(rank["own keys only"] for rank in results)


@pytest.mark.slow
@pytest.mark.sampled
def test_torch_deals_out_tokens_in_zigzag(tmp_path):
    says(LAB, "calls it head-tail")
    solutions.write(LAB, tmp_path)
    names: dict = {}
    exec((tmp_path / "split_sequence.py").read_text(), names)
    results = CheckRanks(Path()).call(2, on_rank_context.outcome, limit=PATIENCE_S)
    zigzag = names["zigzag"](on_rank_context.TOKENS, 2)
    assert all(
        torch.equal(rank["places"], mine) for rank, mine in zip(results, zigzag, strict=True)
    )


def test_torch_gathers_all_keys_and_values_unless_they_are_to_go_round():
    says(LAB, 'Only `set_rotate_method("alltoall")` makes it a ring')
    assert _attention._cp_options.rotate_method.name == "ALL_GATHER"
    assert "alltoall" in _attention.set_rotate_method.__doc__


def test_a_ring_hides_behind_as_many_tokens_as_the_lab_says():
    speed = 400e12
    says(LAB, "6,700 over NVLink")
    says(LAB, "17,400 over InfiniBand")
    assert 2 * speed * LINKS["NVLink"][1] == pytest.approx(6_700, rel=0.01)
    assert 2 * speed * LINKS["InfiniBand"][1] == pytest.approx(17_400, rel=0.01)
