"""Healthy: rank 0 is busy for much longer than the test's patience, and the others wait for it."""

import subprocess
import sys
import time

import numpy as np
import torch
import torch.distributed as dist

KIND, FOLDER, LONG_S = sys.argv[1], sys.argv[2], 8
dist.init_process_group("gloo")
end = time.monotonic() + LONG_S
if dist.get_rank() == 0:
    if KIND == "computes":  # in long calls of a library
        matrix = np.random.default_rng(0).normal(size=(1200, 1200))
        while time.monotonic() < end:
            np.linalg.svd(matrix)
    elif KIND == "loads":  # as Python does, item by item
        data = []
        while time.monotonic() < end:
            time.sleep(0.01)
            data.append(len(data))
    elif KIND == "saves":
        block = torch.zeros(1 << 24)
        while time.monotonic() < end:
            torch.save(block, f"{FOLDER}/model.pt")
    elif KIND == "starts a program":
        loop = f"import time\nwhile time.time() < {time.time() + LONG_S}: pass"
        subprocess.run([sys.executable, "-c", loop], check=True)
dist.barrier()
print(f"rank {dist.get_rank()}: done", flush=True)
