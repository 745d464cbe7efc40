"""VQ-VAE on digits; the codebook follows its vectors by an exponential moving average."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Codebook(nn.Module):
    """Codes are buffers: they are moved by the means of their vectors, not by gradients."""

    def __init__(self, codes, dim, decay=0.95):
        super().__init__()
        self.decay = decay
        weight = torch.randn(codes, dim)
        self.register_buffer("weight", weight)
        self.register_buffer("count", torch.ones(codes))
        self.register_buffer("total", weight.clone())

    def forward(self, z):
        flat = z.detach()
        index = torch.cdist(flat, self.weight).argmin(1)
        if self.training:
            self.follow(flat, index)
        q = self.weight[index]
        commit = F.mse_loss(z, q)
        return z + (q - z).detach(), commit, index

    @torch.no_grad()
    def follow(self, flat, index):
        hot = F.one_hot(index, len(self.weight)).to(flat.dtype)
        self.count.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
        self.total.mul_(self.decay).add_(hot.t() @ flat, alpha=1 - self.decay)
        self.weight = self.total / self.count.clamp(min=1e-3)[:, None]


class VQVAE(nn.Module):
    def __init__(self, dim=16, codes=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, dim))
        self.codebook = Codebook(codes, dim)
        self.decoder = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 64))

    def forward(self, x):
        q, commit, index = self.codebook(self.encoder(x))
        return self.decoder(q), commit, index


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(11)

    images = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    train = TensorDataset(images[:1536])
    sampler = DistributedSampler(train, shuffle=True)
    loader = DataLoader(train, batch_size=64, sampler=sampler)

    model = DistributedDataParallel(VQVAE(), broadcast_buffers=False)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)

    for epoch in range(4):
        sampler.set_epoch(epoch)
        used = set()
        for (x,) in loader:
            recon, commit, index = model(x)
            loss = F.mse_loss(recon, x) + 0.25 * commit
            opt.zero_grad()
            loss.backward()
            opt.step()
            used.update(index.tolist())
        if rank == 0:
            print(f"epoch {epoch} loss {loss.item():.4f} codes in use {len(used)}")

    if rank == 0:
        torch.save(model.module.state_dict(), "/dev/null")
    dist.barrier()


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
