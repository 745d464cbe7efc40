"""The Trainer with four passes a step: ``torchrun --nproc-per-node 2 passes.py``."""

import tempfile

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import Trainer, TrainingArguments

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(0)
samples = torch.randn(8_000, 256, generator=generator)
labels = torch.randint(0, 10, (8_000,), generator=generator)
data = [{"x": x, "labels": y} for x, y in zip(samples, labels, strict=True)]


class Net(nn.Module):
    """A perceptron."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """The loss."""
        return {"loss": cross_entropy(self.layers(x), labels)}


arguments = TrainingArguments(
    tempfile.mkdtemp(),
    per_device_train_batch_size=32,
    gradient_accumulation_steps=4,
    max_steps=30,
    use_cpu=True,
    report_to=[],
    save_strategy="no",
    logging_strategy="no",
    disable_tqdm=True,
)
Trainer(Net(), arguments, train_dataset=data).train()
