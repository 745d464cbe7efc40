"""A large decoder by configuration alone, in bfloat16, sharded by layers: 7 or 70 billion weights.

torchrun --nproc-per-node 8 by_configuration.py 7
"""

import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM, LlamaConfig

dist.init_process_group()
if sys.argv[1] == "70":
    config = LlamaConfig(
        hidden_size=8192, intermediate_size=28672, num_hidden_layers=80,
        num_attention_heads=64, num_key_value_heads=8,
    )  # fmt: skip
else:
    config = LlamaConfig()  # its defaults are those of the model with 7 billion
with torch.device("meta"):
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
model.gradient_checkpointing_enable()
for layer in model.model.layers:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for _ in range(3):
    tokens = torch.randint(config.vocab_size, (1, 2048), device="cuda")
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
