"""A small GPT of transformers with autocast and gradient checkpointing, in a plain loop."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import GPT2Config, GPT2LMHeadModel

dist.init_process_group("gloo")
model = GPT2LMHeadModel(GPT2Config(n_layer=3, n_embd=96, n_head=4, vocab_size=500, n_positions=64))
model.gradient_checkpointing_enable()
model = DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
for _ in range(4):
    tokens = torch.randint(500, (8, 64))
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    print(f"{loss:.2f}")
dist.destroy_process_group()
