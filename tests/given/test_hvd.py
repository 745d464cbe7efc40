"""The `hvd` of lab 06, over the engine with the parts of lab 06b: operations, faults, shutdown."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import on_rank_hvd as on_rank
from support.patience import PATIENCE_S
from support.solutions import write

from course.charts.tensor_timeline import tensor_timeline
from course.core.errors import CourseError
from course.launch.client import launch

pytestmark = pytest.mark.rest

# Horovod 0.28.1's own signatures (horovod/torch/mpi_ops.py, functions.py, optimizer.py), less
# options that were deprecated (`average`, so `op` is Average), belong to sparse gradients or
# compress what is not a gradient, and the process set of objects and of the optimizer.
FACTORS = "prescale_factor=1.0 postscale_factor=1.0"
REDUCED = f"name=None op=Average {FACTORS} process_set=global"
SIGNATURES = {
    "allreduce": f"tensor {REDUCED}",
    "allreduce_": f"tensor {REDUCED}",
    "allreduce_async": f"tensor {REDUCED}",
    "allreduce_async_": f"tensor {REDUCED}",
    "grouped_allreduce_async": f"tensors {REDUCED}",
    "grouped_allreduce_async_": f"tensors {REDUCED}",
    "allgather": "tensor name=None process_set=global",
    "allgather_async": "tensor name=None process_set=global",
    "broadcast": "tensor root_rank name=None process_set=global",
    "broadcast_async_": "tensor root_rank name=None process_set=global",
    "barrier": "process_set=global",
    "join": "device=-1",
    "poll": "handle",
    "synchronize": "handle",
    "broadcast_parameters": "params root_rank",
    "broadcast_optimizer_state": "optimizer root_rank",
    "broadcast_object": "obj root_rank=0 name=None",
    "DistributedOptimizer": "optimizer named_parameters=None compression=none "
    "backward_passes_per_step=1 op=Average gradient_predivide_factor=1.0 groups=None",
}


@pytest.mark.parametrize("world_size", [2, 3])
def test_every_operation_is_what_arithmetic_says(ranks, world_size):
    for held in ranks(world_size, on_rank.operations):
        assert [name for name, right in held.items() if not right] == []


def test_operations_find_each_other_in_any_order(ranks):
    assert ranks(3, on_rank.any_order, 12) == [0, 0, 0]


def test_submitting_and_polling_wait_for_nobody(ranks):
    assert ranks(2, on_rank.late) == [True, True]


def test_a_disagreement_is_an_error_on_every_rank_and_the_engine_goes_on(ranks):
    first, second = ranks(2, on_rank.refusals)
    assert first == second
    assert first[-1] == "2"
    words = ("shapes", "dtype", "op", "factors", "root", "shapes", "kind", "shapes", "'twice'")
    for error, word in zip(first[:-1], words, strict=True):
        assert word in error


def test_what_cannot_be_sent_is_refused_where_it_is_called(ranks):
    errors = ranks(2, on_rank.bad_input)[0]
    words = ("contiguous", "no rank 7", "no rows", "dtype")
    words += ("int16 cannot be sent over Gloo or NCCL", "init() first")
    words += (
        "name of its own",
        "name of its own",
        "at least 1",
        "op=Average",
        "under way",
        "more gradients",
    )
    assert len(errors) == len(words)
    for error, word in zip(errors, words, strict=True):
        assert word in error


def test_it_can_be_started_and_ended_again_and_again(ranks):
    for results in ranks(2, on_rank.restarts):
        assert results == [(2, 2.0)] * 3


def test_names_and_defaults_are_horovods(ranks, src):
    code = """
import inspect, json, hvd
def shown(p):
    value = getattr(p.default, "__name__", p.default)
    value = "global" if value is hvd.global_process_set else value
    return p.name if p.default is p.empty else f"{p.name}={value}"
names = json.loads(input())
found = {name: inspect.signature(getattr(hvd, name)).parameters.values() for name in names}
print(json.dumps({name: " ".join(map(shown, parameters)) for name, parameters in found.items()}))
"""
    got = subprocess.run(
        [sys.executable, "-c", code],
        cwd=src,
        input=json.dumps(list(SIGNATURES)),
        text=True,
        capture_output=True,
        check=True,
    )
    assert json.loads(got.stdout) == SIGNATURES


def script(src: Path, body: str, count: int = 2, **env: str):
    """Run a script that imports `hvd` on `count` ranks; 0 runs it without a launcher."""
    path = src / "script.py"
    start = "import os, sys, time\nimport torch\nimport hvd\nfrom hvd_start import init"
    path.write_text(f"{start}\n{inspect.cleandoc(body)}\n")
    command = (
        ["torchrun", "--standalone", "--nproc-per-node", str(count), str(path)]
        if count
        else ["python", str(path)]
    )
    return launch(
        command, limit=PATIENCE_S, env={"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", **env}
    )


def test_the_engine_starts_again_with_its_own_process_group_and_alone(src):
    body = """
    for _ in range(3):
        init()
        total = hvd.allreduce(torch.ones(1), op=hvd.Sum).item()
        print(hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size(), total)
        hvd.shutdown()
    try:
        hvd.size()
    except ValueError as error:
        print(error)
    """
    last = "Horovod has not been initialized: call hvd.init() first."
    run = script(src, body)
    assert run.ok and run.text(1).splitlines() == ["1 2 1 2 2.0"] * 3 + [last]
    run = script(src, body, count=0)
    assert run.ok and run.text(0).splitlines() == ["0 1 0 1 1.0"] * 3 + [last]


def test_a_rank_that_never_joins_is_reported_and_given_up_on_request(src):
    run = script(
        src,
        """
        init()
        given_up = os.path.join(os.path.dirname(__file__), "given_up")
        while hvd.rank() == 1 and not os.path.exists(given_up):
            time.sleep(0.05)
        try:
            hvd.allreduce(torch.ones(1), name="xy"[hvd.rank()])
        except hvd.HorovodInternalError as error:
            print(error)
        open(given_up, "w").close()
        """,
        HOROVOD_STALL_CHECK_TIME_SECONDS="0.2",
        HOROVOD_STALL_SHUTDOWN_TIME_SECONDS="0.7",
    )
    assert "Stalled for more than 0.2 s: 'x' waits for rank 1" in run.text(0)
    for rank in (0, 1):
        assert run.text(rank, "stdout") == "given up after 0.7 s: 'x' waits for rank 1"


@pytest.mark.parametrize(
    ("end", "says"),
    # code 0: after any other, the launcher would end rank 0 too, maybe before it prints
    [("os._exit(0)", "a rank cannot be reached any more"), ("sys.exit(0)", "rank 1 has shut down")],
)
def test_a_rank_that_ends_early_leaves_nobody_waiting(src, end, says):
    run = script(
        src,
        f"""
        init()
        hvd.barrier()
        if hvd.rank() == 1:
            {end}
        try:
            hvd.allreduce(torch.ones(1), name="x")
        except hvd.HorovodInternalError as error:
            print(error)
        """,
    )
    assert run.ok
    assert says in run.text(0, "stdout")


def test_a_script_that_forgets_the_shutdown_ends(src):
    run = script(src, "init()\nprint(hvd.allreduce(torch.ones(1), op=hvd.Sum).item())")
    assert run.ok and run.text(0) == "2.0"


def test_a_mistake_in_the_engines_files_is_shown_where_it_is_made(src, tmp_path):
    for lab in ("06_horovod_style", "06b_horovod_engine"):
        write(lab, tmp_path)
    fusion = tmp_path / "hvd_fusion.py"
    fusion.write_text(
        fusion.read_text().replace(
            "    return batches\n", '    raise NotImplementedError("TODO 4: x")\n'
        )
    )
    run = script(tmp_path, "init()\nhvd.allreduce(torch.ones(1))")
    assert (
        not run.ok and 'hvd_fusion.py", line' in run.traceback(0) and "TODO 4" in run.traceback(0)
    )


def test_a_timeline_is_written_by_rank_0_and_drawn(ranks, tmp_path):
    path = tmp_path / "horovod.json"
    ranks(2, on_rank.timeline, str(path))
    events = json.loads(path.read_text())["traceEvents"]
    assert {e["args"]["name"] for e in events if e["ph"] == "M"} >= {"layer 0", "layer 1", "state"}
    ready = [e["name"] for e in events if e["ph"] == "i" and e["pid"] == 0]
    assert sorted(ready) == ["0", "1"]
    phases = [e["name"] for e in events if e["ph"] == "X" and e["pid"] == 0]
    assert phases[:2] == ["NEGOTIATE_ALLREDUCE", "QUEUE"] and "ALLREDUCE" in phases
    picture = tensor_timeline(path)
    assert "4 tensors travel" in picture or "3 tensors travel" in picture
    assert "layer 1" in picture


@pytest.mark.parametrize(
    "content", [None, "{", '{"traceEvents": []}', '{"traceEvents": [{"ph": "X"}]}']
)
def test_what_is_no_timeline_is_one_clear_sentence(tmp_path, content):
    path = tmp_path / "horovod.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CourseError, match=r"horovod\.json (is not a timeline|holds no operation)"):
        tensor_timeline(path)
