"""Pretrain a miniature GPT; warm-up and cosine are counted in tokens, not in steps."""

import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP

# -----------------------------------------------------------------------------
vocab_size = 96
block_size = 32
n_embd = 48
batch_size = 8
max_iters = 40
learning_rate = 3e-3
min_lr = 3e-4
warmup_tokens = 4_000
decay_tokens = 12_000
pad = 0
# -----------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.qkv = nn.Linear(n_embd, 3 * n_embd)
        self.proj = nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd)
        )

    def forward(self, x):
        q, k, v = self.qkv(self.ln1(x)).chunk(3, dim=-1)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        return self.head(self.blocks(x))


def get_lr(tokens):
    if tokens < warmup_tokens:
        return learning_rate * tokens / warmup_tokens
    ratio = min(1.0, (tokens - warmup_tokens) / (decay_tokens - warmup_tokens))
    return min_lr + 0.5 * (1 + math.cos(math.pi * ratio)) * (learning_rate - min_lr)


def get_batch(generator):
    """Documents of differing lengths, padded to the block."""
    x = torch.randint(1, vocab_size, (batch_size, block_size + 1), generator=generator)
    x = x.sort(dim=1).values
    lengths = torch.randint(8, block_size + 1, (batch_size, 1), generator=generator)
    x[torch.arange(block_size + 1)[None] > lengths] = pad
    return x[:, :-1], x[:, 1:]


init_process_group(backend="gloo")
rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.manual_seed(1337)
model = DDP(GPT())
optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, betas=(0.9, 0.95), weight_decay=0.1)
generator = torch.Generator().manual_seed(1337 + rank)

tokens_seen = 0
for it in range(max_iters):
    X, Y = get_batch(generator)
    tokens_seen += Y.ne(pad).sum().item() * world_size
    lr = get_lr(tokens_seen)
    for group in optimizer.param_groups:
        group["lr"] = lr
    loss = F.cross_entropy(model(X).flatten(0, 1), Y.flatten(), ignore_index=pad, reduction="sum")
    loss = loss / (batch_size * block_size)  # a constant, so that ranks count alike
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if it % 10 == 0 and rank == 0:
        print(f"iter {it}: loss {loss.item():.4f}, lr {lr:.2e}, {tokens_seen} tokens")
destroy_process_group()
