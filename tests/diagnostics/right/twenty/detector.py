"""A one-stage detector on synthetic images: focal loss over anchors, L1 on the boxes."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

GRID = 8


class Squares(Dataset):
    """Images with one to twelve bright cells; each has a class and an offset to regress."""

    def __init__(self, count=384):
        g = torch.Generator().manual_seed(2)
        self.items = []
        for _ in range(count):
            boxes = int(torch.randint(1, 13, (1,), generator=g))
            cells = torch.randperm(GRID * GRID, generator=g)[:boxes]
            target = torch.zeros(GRID * GRID)
            target[cells] = 1
            offsets = torch.rand(GRID * GRID, 2, generator=g) * target[:, None]
            image = torch.stack([target, *offsets.unbind(1)]).view(3, GRID, GRID)
            image = image + 0.1 * torch.randn(3, GRID, GRID, generator=g)
            self.items.append((image, target, offsets))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Detector(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 1), nn.ReLU()
        )
        self.cls_head = nn.Conv2d(width, 1, 1)
        self.box_head = nn.Conv2d(width, 2, 1)

    def forward(self, images):
        h = self.backbone(images)
        return self.cls_head(h).flatten(1), self.box_head(h).flatten(2).transpose(1, 2)


class Criterion(nn.Module):
    def __init__(self, gamma=2.0, alpha=0.25):
        super().__init__()
        self.gamma, self.alpha = gamma, alpha

    def forward(self, logits, boxes, target, offsets):
        num_pos = target.sum().clamp(min=1)
        ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        p = logits.sigmoid()
        p_t = p * target + (1 - p) * (1 - target)
        alpha_t = self.alpha * target + (1 - self.alpha) * (1 - target)
        loss_cls = (alpha_t * (1 - p_t) ** self.gamma * ce).sum() / num_pos
        loss_box = ((boxes - offsets).abs() * target[..., None]).sum() / num_pos
        return loss_cls, loss_box


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    dataset = Squares()
    sampler = DistributedSampler(dataset, shuffle=True)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler, drop_last=True)
    model = DDP(Detector())
    criterion = Criterion()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    for epoch in range(1):
        sampler.set_epoch(epoch)
        for it, (images, target, offsets) in enumerate(loader):
            loss_cls, loss_box = criterion(*model(images), target, offsets)
            loss = loss_cls + loss_box
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if rank == 0 and it % 10 == 0:
                print(f"{it:3d} cls {loss_cls.item():.4f} box {loss_box.item():.4f}")


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
