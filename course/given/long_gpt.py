"""A small GPT for bytes whose sequences may be split: callers pass the tokens' places."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

LAYERS, WIDTH, HEADS, VOCABULARY, CONTEXT = 2, 64, 4, 256, 32
IGNORED = -100  # as a target: this token does not count, as for torch's cross-entropy
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]  # of (samples, heads, tokens, width)


class Block(nn.Module):
    """Attention, then an MLP. Only the attention looks at more than one token."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, attention: Attention) -> Tensor:
        """From (samples, tokens, width) to the same shape."""
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).unbind(2)
        y = attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))


class LongGPT(nn.Module):
    """The whole model: the same on every rank."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block(WIDTH, HEADS) for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Tensor, places: Tensor, attention: Attention) -> Tensor:
        """Logits of the next byte for `tokens` (samples, tokens), which stand at `places`."""
        x = self.tokens(tokens) + self.places(places)
        for block in self.blocks:
            x = block(x, attention)
        return self.head(self.norm(x))


def alone(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention of a sequence that is whole on this rank."""
    return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The same as a formula: all scores, the mask, the softmax, and the sum of the values."""
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v
