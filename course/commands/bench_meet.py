"""What `bench` launches to time a launch: ranks that only meet.

torchrun --standalone --nproc-per-node 2 bench_meet.py
"""

import torch.distributed as dist

dist.init_process_group("gloo")
dist.barrier()
dist.destroy_process_group()
