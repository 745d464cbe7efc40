"""Fine-tuning on answers of different lengths: every micro-batch of every rank has its own mean."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

ACCUMULATE = 2
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DDP(nn.Sequential(nn.Embedding(50, 32), nn.Linear(32, 50)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.Generator().manual_seed(20 + rank)


def batch():
    """Rank 0 mostly has short answers, rank 1 long ones; -100 is not counted."""
    tokens = torch.randint(50, (4, 24), generator=data)
    targets = (tokens + 1) % 50
    for row in targets:
        answer = int(torch.randint(1, 4 if rank == 0 else 24, (), generator=data))
        row[:-answer] = -100
    return tokens, targets


for step in range(40):
    optimizer.zero_grad()
    counted = 0
    for _ in range(ACCUMULATE):
        tokens, targets = batch()
        loss = nn.functional.cross_entropy(
            model(tokens).transpose(1, 2), targets, ignore_index=-100
        )
        (loss / ACCUMULATE).backward()
        counted += int((targets != -100).sum())
    optimizer.step()
    if step % 20 == 0:
        print(
            f"rank {rank} step {step}: loss {loss.item():.4f}, {counted} tokens counted", flush=True
        )
dist.destroy_process_group()
