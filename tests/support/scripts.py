"""Scripts that several tests run."""

# What most scripts begin with: `ready()` tells the test that this rank has come this far.
PREAMBLE = """
import os, signal, sys, time
from pathlib import Path
rank = int(os.environ.get("RANK", 0))
def ready():
    Path(sys.argv[1], f"ready{rank}").touch()
"""
HEALTHY = PREAMBLE + "ready()\nwhile True: time.sleep(0.05)\n"
HUNG = (
    PREAMBLE
    + """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
ready()
if rank == 0:
    dist.all_reduce(torch.ones(4))  # rank 1 never comes
while True: time.sleep(0.05)
"""
)
IGNORING = (
    PREAMBLE
    + """
for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)
ready()
while True: time.sleep(0.05)
"""
)
JOINING = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print(int(total))
dist.destroy_process_group()
"""
COUNT = """
import os, sys
# One write: in a terminal the ranks share their output, and `print` makes several writes where
# Python does not buffer.
sys.stdout.write(f"{os.environ.get('RANK', 0)} of {os.environ.get('WORLD_SIZE', 1)}\\n")
"""
TODO = """
def average(x):
    # TODO 2: average over the ranks
    raise NotImplementedError("TODO 2: average over the ranks")

def later(x):
    # TODO 3: do it in place
    raise NotImplementedError("TODO 3: do it in place")

average(1)
"""
