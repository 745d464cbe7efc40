"""A model built from a configuration like Llama's, sharded by layers: `7` or `70` billion weights.

Without an argument it is small enough to run for real.
"""

import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from transformers import LlamaConfig, LlamaForCausalLM

SIZES = {
    "small": {"hidden_size": 64, "intermediate_size": 172, "num_hidden_layers": 4,
              "num_attention_heads": 4, "vocab_size": 500},
    "7": {},
    "70": {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
           "num_attention_heads": 64, "num_key_value_heads": 8},
}  # fmt: skip
size, precision = (*sys.argv[1:], "small", "fp32")[:2] if sys.argv[1:] else ("small", "fp32")
dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
config = LlamaConfig(**SIZES[size], use_cache=False)
with torch.device("meta"):
    model = LlamaForCausalLM(config)
policy = MixedPrecisionPolicy()
if precision == "bf16":
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for layer in model.model.layers:
    fully_shard(layer, mp_policy=policy)
fully_shard(model, mp_policy=policy)
device = "cuda" if torch.cuda.is_available() else "cpu"
model.to_empty(device=device)
with torch.no_grad():
    for parameter in model.parameters():
        parameter.fill_(0.01)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
length = 64 if size == "small" else 2048
for _ in range(4):
    tokens = torch.randint(config.vocab_size, (1, length), device=device)
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(f"{loss.item():.2f}")
dist.destroy_process_group()
