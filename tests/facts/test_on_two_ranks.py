"""What the course says about collectives over Gloo and about DDP, tried on two or three ranks."""

import math
from pathlib import Path

import pytest
import torch
from support import on_rank_facts
from support.patience import PATIENCE_S
from support.says import says

from course.checks.runner.on_ranks import CheckRanks

pytestmark = [pytest.mark.slow, pytest.mark.rest]


@pytest.fixture(scope="module")
def reports() -> list[dict]:
    """The results of each of two ranks."""
    return CheckRanks(Path()).call(2, on_rank_facts.everything, limit=PATIENCE_S)


@pytest.fixture
def collectives(reports) -> list[dict]:
    return [rank["collectives"] for rank in reports]


def test_a_broadcast_of_a_column_over_gloo_sends_its_neighbours(collectives):
    says("00_start_here", "`broadcast`")
    assert collectives[1]["right"] == [1, 4, 7, 10]
    assert collectives[0]["of a column"] == [1, 2, 3, 4]


def test_a_rank_may_leave_a_collective_with_a_root_before_another_has_come():
    assert all(
        CheckRanks(Path()).call(3, on_rank_facts.rank_2_leaves_a_broadcast_first, limit=PATIENCE_S)
    )


def test_collectives_are_matched_by_order(collectives):
    says("06_horovod_style", "1 + 10")
    assert [rank["by order"] for rank in collectives] == [[11, 11], [11, 11]]


def test_an_average_with_inf_is_inf(collectives):
    says("05_mixed_precision", "inf (or nan)")
    assert [rank["infinite"] for rank in collectives] == [[math.inf]] * 2


def test_a_reduce_scatter_over_gloo_is_an_all_reduce(reports):
    says("10_sharding", "Over Gloo, torch runs a whole all-reduce")
    says("10b_fsdp", "reduce-scatter is an all-reduce")
    halves = reports[0]["halves"]
    # A ring of two ranks sends 1/2 of the tensor for each half.
    whole, half = pytest.approx(1, abs=0.1), pytest.approx(0.5, abs=0.1)
    assert halves["all-reduce"] == whole and halves["all-gather"] == half
    assert halves["reduce-scatter"] == whole and halves["reduce-scatter of a list"] == whole


def test_a_step_split_by_data_sends_what_it_says():
    returned, sent = CheckRanks(Path()).call(3, on_rank_facts.by_data, limit=PATIENCE_S)[0]
    assert sent == pytest.approx(returned, rel=0.1)


def test_a_minimum_shows_a_single_0(collectives):
    says("hints", "`ReduceOp.MIN`")
    assert [rank["vote"] for rank in collectives] == [[0]] * 2


def test_all_gather_object_fills_a_list(collectives):
    says("hints", "`dist.all_gather_object`")
    assert [rank["objects"] for rank in collectives] == [[0.5, 1.5]] * 2


def test_the_root_of_a_group_is_a_rank_of_the_job(reports):
    says("09_clusters", "`src` and `dst`")
    says("hints", "`dst` and `src`")
    assert reports[1]["root_of_a_group"] == 1


def test_what_is_told_of_a_rank_that_does_not_come(reports):
    says("04b_clinic", "monitored_barrier", "torch 2.13", "`dist.barrier(timeout=...)`")
    timeouts = reports[0]["timeouts"]
    assert "Rank 1 failed to pass monitoredBarrier" in timeouts["monitored"]
    assert "imed out" in timeouts["wait"]
    if torch.__version__ >= (2, 13):
        assert "imed out" in timeouts["barrier"]
    else:
        assert "unexpected keyword argument 'timeout'" in timeouts["barrier"]


def test_what_ddp_makes_equal(reports):
    says(
        "03_distributed_data_parallel",
        "weights and buffers",
        "before each forward",
        "averages over ranks",
    )
    says("04c_wrong_numbers", "NaN")
    first, second = (rank["ddp"] for rank in reports)
    equal = ("weight", "buffer", "before each forward")
    assert [first[name] for name in equal] == [second[name] for name in equal] == [1, 1, 5]
    assert first["gradient 3"] == second["gradient 3"] == (1 + 5) / 2
    assert math.isnan(first["norm"]) and math.isnan(second["norm"])
    assert first["norm of drifted"] == second["norm of drifted"] == (0 + 2) / 2


def test_an_evaluation_without_buffers_waits_for_nobody(reports):
    says("04b_clinic", "*buffers*")
    assert all(rank["evaluation_on_rank_0"] for rank in reports)


def test_the_scaler_asks_the_ranks_of_a_sharded_model(reports):
    says("05_mixed_precision", "the scaler's flag")
    assert [rank["scaler_of_shards"] for rank in reports] == [[2.0**15, 0]] * 2


def test_what_detail_finds_of_five_disagreements(reports):
    says("06b_horovod_engine", "three of them")
    for rank, answers in enumerate(result["disagreements"] for result in reports):
        for name in ("shape", "dtype", "kind"):
            assert "Detected mismatch between collectives" in answers[name][0]
        assert answers["op"] == ("", [2, 2]), rank
    messages = [rank["disagreements"]["root"][0] for rank in reports]
    assert all(messages) and not any("Detected mismatch" in error for error in messages)
    # The other rank may instead report that the first one to give up closed the connection.
    assert any("imed out" in error for error in messages), messages


def test_a_restart_changes_the_last_digits_from_three_ranks_on():
    says("04_ddp_in_practice", "three ranks")
    assert all(CheckRanks(Path()).call(2, on_rank_facts.restarted, limit=PATIENCE_S))
    assert not any(CheckRanks(Path()).call(3, on_rank_facts.restarted, limit=PATIENCE_S))
