"""Character LSTM. Exploding gradients are clamped by a hook on every parameter."""

import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

TEXT = (
    "the quick brown fox jumps over the lazy dog while the five boxing wizards jump quickly "
    "and pack my box with five dozen liquor jugs before sphinx of black quartz judges my vow "
) * 12


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--seq", type=int, default=24)
    p.add_argument("--bs", type=int, default=16)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--lr", type=float, default=1.0)
    p.add_argument("--clip-value", type=float, default=0.002)
    return p.parse_args()


class CharLSTM(nn.Module):
    def __init__(self, n_chars, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(n_chars, 24)
        self.lstm = nn.LSTM(24, hidden, batch_first=True)
        self.head = nn.Linear(hidden, n_chars)

    def forward(self, x):
        out, _ = self.lstm(self.emb(x))
        return self.head(out)


def build_dataset(seq):
    chars = sorted(set(TEXT))
    ids = torch.tensor([chars.index(c) for c in TEXT])
    windows = ids.unfold(0, seq + 1, 2)
    return TensorDataset(windows[:, :-1].contiguous(), windows[:, 1:].contiguous()), len(chars)


def clamp_gradients(module, limit):
    for p in module.parameters():
        p.register_hook(lambda grad: torch.clamp(grad, -limit, limit))


def train_epoch(model, loader, optimizer, rank, epoch):
    model.train()
    criterion = nn.CrossEntropyLoss()
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(x).transpose(1, 2), y)
        loss.backward()
        optimizer.step()
        if rank == 0 and i % 10 == 0:
            print(f"{epoch}:{i:03d} loss={loss.item():.4f}")


def run():
    args = get_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(5)
    data, n_chars = build_dataset(args.seq)
    sampler = DistributedSampler(data, shuffle=True, seed=5)
    loader = DataLoader(data, batch_size=args.bs, sampler=sampler, drop_last=True)
    model = CharLSTM(n_chars)
    clamp_gradients(model, args.clip_value)
    model = DDP(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train_epoch(model, loader, optimizer, rank, epoch)


if __name__ == "__main__":
    run()
    dist.destroy_process_group()
