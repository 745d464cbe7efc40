"""Process sets, `join`, and the messages about what cannot be done."""

import json
import subprocess
import sys

import pytest
from support import on_rank_hvd_sets as on_rank

from course.core.files import ROOT

pytestmark = pytest.mark.rest


def test_a_process_set_runs_its_operations_among_itself(ranks):
    first, middle, last = ranks(3, on_rank.sets)
    assert [got["place"] for got in (first, middle, last)] == [
        ([0, 2], True, 0, 2),
        ([0, 2], False, None, 2),
        ([0, 2], True, 1, 2),
    ]
    for got in (first, last):
        assert got["sum"] == [4, 4] and got["average"] == [2, 2]
        assert got["gathered"] == [1, 3, 3] and got["broadcast"] == [3, 3]
        assert got["no such root"] == "broadcast: there is no rank 1 among [0, 2]"
        assert got["disagreement"].endswith("(the ranks are counted within the process set [0, 2])")
    assert (
        middle["sum"] == [2, 2] and "rank 1 is not in the process set [0, 2]" in middle["outside"]
    )
    assert [got["all"] for got in (first, middle, last)] == [[6, 6]] * 3


def test_a_group_gives_a_tuple_even_a_group_of_one_and_a_tensor_gives_a_tensor(ranks):
    for held in ranks(2, on_rank.result_types):
        assert [name for name, right in held.items() if not right] == []


def test_ranks_that_have_joined_take_part_with_zeros(ranks):
    every = ranks(3, on_rank.joined)
    # With 3, 2 and 1 ranks that still have data; the average is always over all three.
    sums = [([3, 3], 3), ([2, 2], 2), ([1, 1], 1)]
    for rank, got in enumerate(every):
        assert got["sums"] == sums[: rank + 1] * 2
        assert got["last"] == [2, 2, True]
        assert got["after"] == [1, 1, 1]
    for got in every[:2]:
        gather, maximum, barrier = got["errors"]
        assert gather == "allgather 'c': rank 2 has joined, and zeros would be wrong"
        assert maximum == "allreduce Max 'd': rank 2 has joined, and zeros would be wrong"
        assert barrier == ""


def test_a_step_after_synchronize_warns_unless_it_is_told_to_skip(ranks):
    for without, within in ranks(2, on_rank.step_warnings):
        assert len(without) == 1 and "within skip_synchronize()" in without[0]
        assert within == []


def test_an_error_of_the_library_keeps_its_reason(ranks):
    for (error,) in ranks(2, on_rank.torch_error):
        assert error == "Invalid scalar type"


def test_every_dtype_that_is_let_through_can_be_reduced(ranks):
    assert "int16" not in ranks(2, on_rank.accepted_dtypes)[0]


@pytest.mark.parametrize("name", ["DYNAMIC", "now.json"])
def test_a_dynamic_timeline_records_nothing_until_it_is_started(src, tmp_path, name):
    script = """
import hvd, torch
hvd.init()
hvd.allreduce(torch.ones(1), name="before")
if hvd.engine().timeline is None:
    hvd.start_timeline("later.json")
hvd.allreduce(torch.ones(1), name="after")
hvd.shutdown()
"""
    subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{src}:{ROOT}", "HOROVOD_TIMELINE": name, "OMP_NUM_THREADS": "1"},
        check=True,
    )
    (written,) = tmp_path.iterdir()
    events = json.loads(written.read_text())["traceEvents"]
    rows = {event["args"]["name"] for event in events if event["ph"] == "M"}
    expected = {"DYNAMIC": ("later.json", {"after"}), "now.json": (name, {"before", "after"})}
    assert (written.name, rows) == expected[name]


def test_to_import_the_room_starts_no_thread():
    code = "import threading, course.given.horovod; print(threading.active_count())"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True) == "1\n"
