"""transformers' Trainer."""

import tempfile

import torch
from torch import nn
from transformers import Trainer, TrainingArguments

torch.set_num_threads(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 8)
        )

    def forward(self, x):
        return {"loss": self.net(x).square().mean()}


with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=128,
        max_steps=30,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
    )
    inputs = torch.randn(512, 512)
    data = [{"x": row} for row in inputs.repeat(15, 1)]
    Trainer(Model(), arguments, train_dataset=data).train()
