"""Word model with truncated backpropagation through time over one long, ordered text.

The text is cut into columns, which are read side by side and in order; the hidden state is
carried from one window to the next, so that nothing may be shuffled.
"""

import math
import os

import torch
import torch.distributed as dist
import torch.nn as nn

EMSIZE, NHID, BPTT, COLUMNS, EPOCHS = 24, 48, 12, 16, 3


def corpus(words=6000, vocabulary=40):
    g = torch.Generator().manual_seed(4)
    jump = torch.randint(0, vocabulary, (vocabulary, 3), generator=g)
    pick = torch.randint(0, 3, (words,), generator=g).tolist()
    ids = [0]
    for choice in pick:
        ids.append(int(jump[ids[-1], choice]))
    return torch.tensor(ids), vocabulary


def batchify(ids, columns, rank, world):
    rows = len(ids) // (columns * world)
    table = ids[: rows * columns * world].view(columns * world, rows).t()
    return table[:, rank * columns : (rank + 1) * columns].contiguous()


def get_batch(source, i):
    length = min(BPTT, len(source) - 1 - i)
    return source[i : i + length], source[i + 1 : i + 1 + length].reshape(-1)


class RNNModel(nn.Module):
    def __init__(self, ntoken):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(ntoken, EMSIZE)
        self.rnn = nn.LSTM(EMSIZE, NHID)
        self.decoder = nn.Linear(NHID, ntoken)

    def forward(self, tokens, hidden):
        out, hidden = self.rnn(self.drop(self.encoder(tokens)), hidden)
        return self.decoder(self.drop(out)).flatten(0, 1), hidden


def repackage(hidden):
    return tuple(h.detach() for h in hidden)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1111)
    ids, ntoken = corpus()
    train = batchify(ids, COLUMNS, rank, world)
    model = nn.parallel.DistributedDataParallel(RNNModel(ntoken))
    torch.manual_seed(1111 + rank)  # each rank its own dropout

    criterion = nn.CrossEntropyLoss()
    lr, previous = 4.0, None
    for epoch in range(EPOCHS):
        model.train()
        total = torch.zeros(())
        hidden = tuple(torch.zeros(1, COLUMNS, NHID) for _ in range(2))
        starts = range(0, len(train) - 1, BPTT)
        for i in starts:
            data, targets = get_batch(train, i)
            model.zero_grad()
            hidden = repackage(hidden)
            output, hidden = model(data, hidden)
            loss = criterion(output, targets)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            with torch.no_grad():
                for p in model.parameters():
                    p.add_(p.grad, alpha=-lr)
            total += loss.detach()
        dist.all_reduce(total)
        mean = total.item() / len(starts) / world
        if previous is not None and mean > previous:
            lr /= 4  # the mean of all ranks decides, so that all do the same
        previous = mean
        if rank == 0:
            print(f"epoch {epoch} ppl {math.exp(mean):.2f} lr {lr} pid {os.getpid()}")


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
