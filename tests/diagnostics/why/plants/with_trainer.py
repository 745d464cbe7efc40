"""transformers' Trainer: ``torchrun --nproc-per-node 2 with_trainer.py CAUSE FOLDER``."""

import sys

import planted
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import Trainer, TrainerCallback, TrainingArguments

cause, folder = sys.argv[1:3]
planted.configure(cause)


class Model(nn.Module):
    """A network in the form that the Trainer needs: it gets labels, and returns its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.net = planted.Net(cause)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """The loss."""
        return {"loss": cross_entropy(self.net(x), labels)}


class After(TrainerCallback):
    """What the script does between its steps."""

    def on_step_end(self, *args: object, **kwargs: object) -> None:
        """Called after each step."""
        planted.after_step(cause, model, folder)


def collate(batch: list) -> dict[str, torch.Tensor]:
    """A batch by name."""
    return dict(zip(("x", "labels"), data.collate(batch), strict=True))


size = planted.batch_size(cause)
arguments = TrainingArguments(
    folder,
    per_device_train_batch_size=size,
    max_steps=30,
    use_cpu=True,
    report_to=[],
    save_strategy="no",
    logging_strategy="no",
    disable_tqdm=True,
    max_grad_norm=0.0,
    gradient_accumulation_steps=1,
    ddp_bucket_cap_mb={"no overlap": 1000}.get(cause, 25),
    ddp_find_unused_parameters=cause == "unused parameters",
)
data = planted.Digits(cause, size * arguments.world_size * 40)
model = Model()
trainer = Trainer(
    model,
    arguments,
    train_dataset=data,
    data_collator=collate,
    callbacks=[After()],
    optimizers=(planted.optimizer(cause, model), None),
)
trainer.train()
