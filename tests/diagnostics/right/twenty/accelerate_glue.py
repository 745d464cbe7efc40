"""Sentence classification with Accelerate in the manner of the no_trainer examples."""

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.optim import AdamW
from torch.utils.data import DataLoader, Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    get_linear_schedule_with_warmup,
)

EPOCHS = 4
BATCH = 16


class Pairs(Dataset):
    """Two sentences of token ids; the label says whether they share their first word."""

    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        a = torch.randint(5, 60, (count, 6), generator=g)
        b = torch.randint(5, 60, (count, 6), generator=g)
        self.labels = torch.randint(0, 2, (count,), generator=g)
        b[self.labels == 1, 0] = a[self.labels == 1, 0]
        cls, sep = torch.full((count, 1), 1), torch.full((count, 1), 2)
        self.ids = torch.cat([cls, a, sep, b, sep], dim=1)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.labels[i]}


def get_model():
    config = BertConfig(
        vocab_size=64,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
        num_labels=2,
    )
    return BertForSequenceClassification(config)


def evaluate(accelerator, model, loader):
    model.eval()
    correct = total = 0
    for batch in loader:
        with torch.no_grad():
            logits = model(input_ids=batch["input_ids"]).logits
        predictions = accelerator.gather(logits.argmax(dim=-1))
        references = accelerator.gather(batch["labels"])
        correct += (predictions == references).sum().item()
        total += len(references)
    model.train()
    return correct / total


def main():
    accelerator = Accelerator(cpu=True)
    set_seed(8)
    train_loader = DataLoader(Pairs(256, seed=1), batch_size=BATCH, shuffle=True)
    eval_loader = DataLoader(Pairs(83, seed=2), batch_size=BATCH)
    model = get_model()
    optimizer = AdamW(model.parameters(), lr=2e-3)
    scheduler = get_linear_schedule_with_warmup(
        optimizer, num_warmup_steps=4, num_training_steps=EPOCHS * len(train_loader)
    )
    model, optimizer, train_loader, eval_loader, scheduler = accelerator.prepare(
        model, optimizer, train_loader, eval_loader, scheduler
    )
    for epoch in range(EPOCHS):
        model.train()
        for batch in train_loader:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        accuracy = evaluate(accelerator, model, eval_loader)
        accelerator.print(f"epoch {epoch}: accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
