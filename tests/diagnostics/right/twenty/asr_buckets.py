"""Train a small acoustic model; batches hold utterances of similar length."""

import argparse
import os
import random

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, Sampler


class Utterances(Dataset):
    def __init__(self, count, mels=12):
        g = torch.Generator().manual_seed(7)
        self.lengths = torch.randint(20, 60, (count,), generator=g).tolist()
        self.frames = [torch.randn(n, mels, generator=g) for n in self.lengths]
        self.labels = torch.randint(0, 8, (count,), generator=g)

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        return self.frames[i], self.labels[i]


class BucketSampler(Sampler):
    """Sort by length, cut into batches, shuffle the batches, deal them out to the ranks."""

    def __init__(self, lengths, batch_size):
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        self.batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
        self.batches = self.batches[: len(self.batches) // self.world * self.world]

    def __iter__(self):
        batches = list(self.batches)
        random.shuffle(batches)
        yield from batches[self.rank :: self.world]

    def __len__(self):
        return len(self.batches) // self.world


def collate(items):
    frames, labels = zip(*items, strict=True)
    lengths = torch.tensor([len(f) for f in frames])
    return pad_sequence(frames, batch_first=True), lengths, torch.stack(labels)


class Encoder(nn.Module):
    def __init__(self, mels=12, hidden=48, classes=8):
        super().__init__()
        self.conv = nn.Conv1d(mels, hidden, 5, padding=2)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x, lengths):
        x = torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        x, _ = self.rnn(x)
        mask = torch.arange(x.size(1))[None] < lengths[:, None]
        pooled = (x * mask[..., None]).sum(1) / lengths[:, None]
        return self.out(pooled)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(1234)
    data = Utterances(160)
    loader = DataLoader(
        data,
        batch_sampler=BucketSampler(data.lengths, args.batch_size),
        collate_fn=collate,
    )
    model = DistributedDataParallel(Encoder())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        total = 0.0
        for frames, lengths, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(frames, lengths), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if int(os.environ["RANK"]) == 0:
            print(f"epoch {epoch}  loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
