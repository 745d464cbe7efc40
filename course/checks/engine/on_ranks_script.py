"""The script that `on_ranks` launches: call one function on this rank and save what it returns.

torchrun --standalone --nproc-per-node 2 on_ranks_script.py FOLDER
"""

import importlib.util
import os
import pickle
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import torch.distributed as dist
from torch import save  # before a check, or a learner, puts something else in its place


def load(module: str) -> ModuleType:
    """Import a module of the course by its name, or another one by its path."""
    if not module.endswith(".py"):
        return importlib.import_module(module)
    spec = importlib.util.spec_from_file_location(f"on_rank_by_path.{Path(module).stem}", module)
    loaded = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


folder = Path(sys.argv[1])
tempfile.tempdir = str(folder)  # what a check or the learner's code leaves there goes with it
module, name, args, kwargs, src, join = pickle.loads((folder / "call.pickle").read_bytes())
sys.path.insert(0, src)
function = getattr(load(module), name)

if join:
    dist.init_process_group("gloo")
rank = os.environ["RANK"]
result = function(*args, **kwargs)
save(result, folder / f"rank{rank}.pt")
if dist.is_initialized():
    dist.barrier()  # nobody leaves while another rank still talks to it
# Not through the destructor of the process group: it waits for Gloo's threads while it holds the
# interpreter's lock, which those threads may need to free their last tensors. Some runs would hang.
os._exit(0)
