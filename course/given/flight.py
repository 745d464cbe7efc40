"""Write the entries of torch's flight recorder to one file per rank, which Gloo does not do."""

import pickle
import threading
from pathlib import Path

import torch.distributed as dist

from course.core import insides

FOLDER = Path("runs/flight")
# Only NCCL has a public way to write the recorder's entries.
_recorded = insides.inside(insides.module("torch._C._distributed_c10d"), "_dump_fr_trace")


def dump_after(seconds: float) -> None:
    """Write the file after this many seconds, whatever the rank is waiting for at that time."""
    timer = threading.Timer(seconds, dump)
    timer.daemon = True  # the process may end before the timer does
    timer.start()


def dump() -> None:
    """Write ``runs/flight/rank_N``; `torchfrtrace` compares the files of all ranks."""
    trace = pickle.loads(_recorded())
    everyone = str(list(range(dist.get_world_size())))
    # With Gloo the group has no name in the dump.
    trace["pg_config"] = {"0": {"name": "0", "desc": "default_pg", "ranks": everyone}}
    for entry in trace["entries"]:
        entry["frames"] = _of_the_script(entry["frames"])
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"rank_{dist.get_rank()}").write_bytes(pickle.dumps(trace))


def _of_the_script(frames: list[dict]) -> list[dict]:
    """The frames, innermost first, without those that started the script."""
    names = [frame["name"] for frame in frames]
    return frames[: names.index("<module>") + 1] if "<module>" in names else frames
