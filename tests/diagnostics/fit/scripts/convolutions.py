"""A convolutional network with batch norm; DDP's gradients are views of its buckets."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
layers = []
for before, after in ((3, 16), (16, 32), (32, 64)):
    layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
    layers += [nn.MaxPool2d(2)]
model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10))
model = DistributedDataParallel(model, gradient_as_bucket_view=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for _ in range(4):
    images, labels = torch.randn(32, 3, 32, 32), torch.randint(10, (32,))
    loss = criterion(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    correct = (model(images).argmax(1) == labels).float().mean()
    print(loss.item(), correct.item())
dist.destroy_process_group()
