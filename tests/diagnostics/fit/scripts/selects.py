"""A loss over the tokens that a mask selects, and experts that take tokens by their positions.

Here both take all tokens, as a rehearsal assumes.
"""

import torch
from torch import nn

torch.manual_seed(0)
embedding, head = nn.Embedding(500, 64), nn.Linear(64, 500)
experts = nn.ModuleList([nn.Linear(64, 64) for _ in range(2)])
optimizer = torch.optim.AdamW([*embedding.parameters(), *experts.parameters(), *head.parameters()])
for _ in range(4):
    tokens = torch.randint(500, (16, 32))
    hidden = embedding(tokens).flatten(0, 1)
    for expert in experts:
        places = torch.nonzero(tokens.flatten() < 500).squeeze(1)
        hidden = hidden.index_add(0, places, expert(hidden[places]))
    logits = head(hidden).view(16, 32, 500)
    chosen = tokens >= 0
    nn.functional.cross_entropy(logits[chosen], tokens[chosen]).backward()
    optimizer.step()
    optimizer.zero_grad()
