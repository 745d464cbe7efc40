"""Instruction tuning with Accelerate: the loss is a mean over all answer tokens of all ranks."""

import copy

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

ACCUMULATE = 2
IGNORE = -100


class Instructions(Dataset):
    def __init__(self, count=300):
        g = torch.Generator().manual_seed(0)
        self.rows = []
        for _ in range(count):
            answer = int(torch.randint(2, 20, (1,), generator=g))
            ids = torch.randint(3, 60, (6 + answer,), generator=g)
            ids[6:] = ids[5]
            labels = ids.clone()
            labels[:6] = IGNORE
            self.rows.append((ids, labels))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    width = max(len(ids) for ids, _ in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    labels = torch.full((len(rows), width), IGNORE)
    for i, (a, b) in enumerate(rows):
        ids[i, : len(a)], labels[i, : len(b)] = a, b
    return {"input_ids": ids, "labels": labels}


def groups_of(loader, size):
    """Micro-batches of one update; the last group of an epoch may be smaller."""
    group = []
    for batch in loader:
        group.append(batch)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def main():
    accelerator = Accelerator(cpu=True)
    set_seed(12)
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2)
    )
    average = copy.deepcopy(model).requires_grad_(False)
    loader = DataLoader(Instructions(), batch_size=5, shuffle=True, collate_fn=collate)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 6, 100)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

    world = accelerator.num_processes
    for epoch in range(2):
        for group in groups_of(loader, ACCUMULATE):
            count = torch.tensor(sum(int((b["labels"][:, 1:] != IGNORE).sum()) for b in group))
            tokens = accelerator.gather(count).sum()
            for i, batch in enumerate(group):
                last = i == len(group) - 1
                with torch.enable_grad() if last else accelerator.no_sync(model):
                    logits = model(input_ids=batch["input_ids"]).logits[:, :-1]
                    loss = F.cross_entropy(
                        logits.transpose(1, 2), batch["labels"][:, 1:], reduction="sum"
                    )
                    # DDP takes the mean over the ranks: give it N times the share of this rank
                    accelerator.backward(loss * world / tokens)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            with torch.no_grad():
                for old, new in zip(average.parameters(), model.parameters(), strict=True):
                    old.lerp_(new, 0.1)
        accelerator.print(f"epoch {epoch} loss of a token {loss.item() / max(1, int(count)):.4f}")


if __name__ == "__main__":
    main()
