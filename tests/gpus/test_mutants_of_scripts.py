"""A fault that once was in a script, or might have been, is found when it is put back.

Each line names a script, what stands in it once, what takes its place, and what must be said.
"""

from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from support import pretended, solutions
from support.gpu_rules import faults
from support.programs import Program

pytestmark = [pytest.mark.slow, pytest.mark.rest]

JOIN = '"nccl" if on_gpus else "gloo", device_id=device if on_gpus else None)'
LAZY = '"nccl" if on_gpus else "gloo")'
SET = "    torch.cuda.set_device(device)\n"
UNSET = "    pass\n"
THE_TEST = 'torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])'
ALONE_TOO = THE_TEST.replace('["LOCAL_WORLD_SIZE"]', '.get("LOCAL_WORLD_SIZE", 1)')
ANY_GPU = "torch.cuda.is_available()"
EARLY, LATE = "value = loss.item()", "value = loss"

# Found in the syntax tree.
READ = [
    ("00_start_here/data_or_layers.py", JOIN, LAZY, "as `device_id`"),
    (
        "00_start_here/data_or_layers.py",
        THE_TEST,
        "torch.cuda.device_count() > 1",
        "by the one test",
    ),
    ("00_start_here/backends.py", 'int(os.environ["LOCAL_WORLD_SIZE"])', "2", "by the one test"),
    ("01_data_parallel/gpu_memory.py", "torch.cuda.init()", "pass", "call `torch.cuda.init()`"),
    ("01_data_parallel/dp_or_ddp.py", JOIN, LAZY, "as `device_id`"),
    ("02_all_reduce/timing.py", THE_TEST, ANY_GPU, "`is_available()` sends some"),
    ("02_all_reduce/timing.py", SET, UNSET, "before `init_process_group`"),
    ("02_all_reduce/timing.py", SET, UNSET, "`synchronize()` waits for GPU 0"),
    (
        "02_all_reduce/simple_ways.py",
        "deliver([dist.P2POp(dist.isend, flat, 0)])",
        "dist.send(flat, 0)",
        "NCCL warns of a `send`",
    ),
    ("03_distributed_data_parallel/ddp.py", EARLY, LATE, "of the clock"),
    ("03_distributed_data_parallel/single.py", EARLY, LATE, "of the clock"),
    ("04c_wrong_numbers/cured_lies.py", ", device=losses.device)", ")", "`all_reduce` gets it"),
    ("04b_clinic/cured_fails.py", ", device=mine.device)", ")", "`all_gather` gets it"),
    ("05_mixed_precision/apex_today.py", THE_TEST, ANY_GPU, "`is_available()` sends some"),
    ("07b_six_ways/way_ddp.py", JOIN, LAZY, "as `device_id`"),
    ("07b_six_ways/tiny_hvd.py", THE_TEST, ANY_GPU, "by the one test"),
    ("08_scaling/where.py", JOIN, LAZY, "as `device_id`"),
    (
        "09b_queue_and_restart/resumable.py",
        "told_to_stop), device=device)",
        "told_to_stop))",
        "gets it",
    ),
    ("08_scaling/benchmark.py", "step()\n    synchronize()\n", "step()\n", "clock"),
    ("10b_fsdp/fsdp_ways.py", "(layer, mesh=mesh)", "(layer)", "give `fully_shard` its `mesh`"),
    (
        "05b_autocast/amp_bert.py",
        "gpus.capability() <",
        "torch.cuda.get_device_capability() <",
        "ranks on unlike GPUs decide differently",
    ),
]
# Found by a run of a script, which its line has too, on two ranks that see this many GPUs.
DDP, HELLO = "03_distributed_data_parallel/ddp.py", "09_clusters/hello_nodes.py"
GPU = 'torch.device("cuda", local_rank)'
# From torch 2.15 on, a group without `device_id` is given the GPU of LOCAL_RANK: not a fault there.
UNBOUND = (
    "" if torch.__version__ >= (2, 15) else "barrier(): using the device under current context"
)


class ScriptFault(NamedTuple):
    """A fault put back at a `place`, and what a run of a script on that many GPUs `says`."""

    name: str
    words: str
    gpus: int
    place: str
    old: str
    new: str
    says: str


RUN = [
    ScriptFault(DDP, "", 2, DDP, JOIN, LAZY, UNBOUND),
    ScriptFault(DDP, "", 2, DDP, "bert().to(device)", "bert()", "only work with single-device"),
    ScriptFault(HELLO, "", 1, HELLO, ALONE_TOO, ANY_GPU, "CUDA error: invalid device ordinal"),
    ScriptFault(HELLO, "", 2, HELLO, SET, UNSET, "a tensor on cuda:1 while cuda:0 is current"),
    ScriptFault(HELLO, "", 2, HELLO, GPU, 'torch.device("cuda", 0)', "Duplicate GPU detected"),
    ScriptFault(
        "09b_queue_and_restart/resumable.py",
        "--steps 2",
        2,
        "09b_queue_and_restart/resumable.py",
        "told_to_stop), device=device)",
        "told_to_stop))",
        "No backend type associated with device type cpu",
    ),
    ScriptFault(
        "00_start_here/backends.py",
        "",
        2,
        "00_start_here/backends.py",
        "if safe else UNREADABLE",
        "",
        "Gloo sends what lies on a GPU",
    ),
    ScriptFault(
        "00_start_here/backends.py",
        "",
        2,
        "00_start_here/backends.py",
        'device.type == "cpu" or op != "send and receive"',
        'device.type == "cuda" or op != "send and receive"',
        "Gloo sends what lies on a GPU",
    ),
    ScriptFault(
        "02_all_reduce/measure.py",
        "--rounds 1",
        2,
        "02_all_reduce/simple_ways.py",
        "deliver([dist.P2POp(dist.isend, flat, 0)])",
        "dist.send(flat, 0)",
        "An unbatched P2P op (send/recv) was called",
    ),
    ScriptFault(
        "06b_horovod_engine/hvd_race.py",
        "--turns -1 --batch 4 --size tiny",
        2,
        "06b_horovod_engine/hvd_race.py",
        SET,
        UNSET,
        "this rank uses cuda:0: call torch.cuda.set_device",
    ),
]


def replaced(text: str, old: str, new: str) -> str:
    """The text with one change."""
    assert text.count(old) == 1, f"{old!r} stands there {text.count(old)} times"
    return text.replace(old, new)


def names(rows: list[tuple]) -> list[str]:
    """A name for each line: the script, and what must be said."""
    return [f"{row[0]} {row[-1]}" for row in rows]


@pytest.mark.parametrize(("name", "old", "new", "says"), READ, ids=names(READ))
def test_a_fault_is_read(name, old, new, says):
    lab, script = name.split("/")
    scripts = solutions.scripts(lab)
    scripts = scripts | {script: replaced(scripts[script], old, new)}
    lines = {fault for main in scripts for fault in faults(Program.of(main, scripts))}
    assert any(fault.startswith(script) and says in fault for fault in lines), lines


@pytest.mark.parametrize("fault", RUN, ids=names(RUN))
def test_a_fault_is_met(fault: ScriptFault, tmp_path, monkeypatch, warm_ranks):
    lab, script = fault.name.split("/")
    monkeypatch.chdir(pretended.written(lab, tmp_path))
    changed = tmp_path / "src" / fault.place.split("/")[1]
    changed.write_text(replaced(changed.read_text(), fault.old, fault.new))
    command = script, *fault.words.split()
    met = pretended.fault(pretended.on_gpus(Path("src"), *command, gpus=fault.gpus))
    assert fault.says in met if fault.says else met == ""
