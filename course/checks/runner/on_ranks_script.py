"""The script of `CheckRanks.call`: call one function on this rank and save what it returns.

torchrun --standalone --nproc-per-node 2 on_ranks_script.py FOLDER
"""

import importlib.util
import os
import pickle
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

import torch
import torch.distributed as dist

from course.checks.runner import untouched
from course.checks.runner.plain_data import encode, is_call


def load(module: str) -> ModuleType:
    """Import a module of the course by its name, or another one by its path."""
    if not module.endswith(".py"):
        return importlib.import_module(module)
    spec = importlib.util.spec_from_file_location(f"on_rank_by_path.{Path(module).stem}", module)
    loaded = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def main(folder: Path) -> None:
    """Read the call from this rank's file in `folder`, and write the answer there.

    The token of the call is deleted from the file before the learner's code is imported, and only
    this function knows it. So a script cannot write a valid answer itself.
    """
    files = [folder / f"rank{rank}" for rank in range(int(os.environ["WORLD_SIZE"]))]
    rank = int(os.environ["RANK"])
    mine = files[rank]
    tempfile.tempdir = str(folder)  # temporary files of the check or script go with it
    token, module, name, args, kwargs, src, join = pickle.loads(mine.read_bytes())
    mine.write_bytes(b"")
    while any(map(is_call, files)):  # so no script can read the token of another rank
        time.sleep(0.001)
    before = untouched.functions()
    sys.path.insert(0, src)
    function = getattr(load(module), name)
    if join:
        # As if each rank had a node to itself, so that no script can take a local rank for a rank.
        os.environ.update(LOCAL_RANK="0", LOCAL_WORLD_SIZE="1", GROUP_RANK=str(rank))
        dist.init_process_group("gloo")
    torch.manual_seed(rank)  # no verdict depends on chance
    result = function(*args, **kwargs)
    if changed_name := untouched.first_replaced(before):
        # Not an `AssertionError`, because the hint of the check would not fit.
        raise RuntimeError(f"it puts something else in the place of {changed_name}")
    mine.write_bytes(token.encode() + encode(result))
    if dist.is_initialized():
        dist.barrier()  # no rank leaves while another may still need it


main(Path(sys.argv[1]))
# Not through the destructor of the process group: it waits for Gloo's threads while it holds the
# interpreter's lock, which those threads may need to free their last tensors. Some runs would hang.
os._exit(0)
