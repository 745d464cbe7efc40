"""The script that `on_ranks` launches: call one function of a check on this rank and save what it returns.

torchrun --standalone --nproc-per-node 2 body.py FOLDER
"""

import importlib.util
import os
import pickle
import sys
from pathlib import Path

import torch.distributed as dist

folder = Path(sys.argv[1])
module_path, name, args, kwargs, src, join = pickle.loads((folder / "call.pickle").read_bytes())
sys.path.insert(0, src)
spec = importlib.util.spec_from_file_location(f"course.checks.{Path(module_path).stem}", module_path)
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)

if join:
    dist.init_process_group("gloo")
rank = os.environ["RANK"]
result = getattr(module, name)(*args, **kwargs)
(folder / f"rank{rank}.pickle").write_bytes(pickle.dumps(result))
if dist.is_initialized():
    # Gloo's threads may still hold tensors of the last collective. Freeing one needs the interpreter's lock, which
    # the end of the process group holds while it waits for those threads: without this wait, some runs hang.
    dist.barrier()
    dist.destroy_process_group()
