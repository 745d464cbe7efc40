"""The script that `on_ranks` launches: call one function of a check on this rank and save what it returns.

torchrun --standalone --nproc-per-node 2 body.py FOLDER
"""

import importlib.util
import os
import pickle
import sys
import tempfile
from pathlib import Path

import torch.distributed as dist

folder = Path(sys.argv[1])
tempfile.tempdir = str(folder)  # what a check or the learner's code leaves there goes with it
module_path, name, args, kwargs, src, join = pickle.loads((folder / "call.pickle").read_bytes())
sys.path.insert(0, src)
spec = importlib.util.spec_from_file_location(
    f"checks_on_rank.{Path(module_path).stem}", module_path
)
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)

if join:
    dist.init_process_group("gloo")
rank = os.environ["RANK"]
result = getattr(module, name)(*args, **kwargs)
(folder / f"rank{rank}.pickle").write_bytes(pickle.dumps(result))
if dist.is_initialized():
    dist.barrier()  # nobody leaves while another rank still talks to it
# Not through the destructor of the process group: it waits for Gloo's threads while it holds the interpreter's lock,
# which those threads may need to free their last tensors. Some runs would hang.
os._exit(0)
