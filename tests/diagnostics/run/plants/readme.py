import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    for step in range(100):
        inputs, labels = torch.randn(8, 16), torch.randint(4, (8,))
        if step == 40 and dist.get_rank() == 1:
            labels[0] = 4
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
finally:
    dist.barrier()
    dist.destroy_process_group()
