"""transformers' Trainer: ``torchrun --nproc-per-node 2 with_trainer.py FAULT FOLDER``."""

import sys

import torch
from planted import BATCH, LAST, STEPS, WORLD, Samples, net
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import Trainer, TrainerCallback, TrainingArguments

fault, folder = sys.argv[1:3]


class Model(nn.Module):
    """A net as the Trainer wants it: it takes labels and returns the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.net = net()

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """The loss."""
        return {"loss": cross_entropy(self.net(x), labels)}


class Callback(TrainerCallback):
    """Causes a fault between steps."""

    def on_train_begin(self, *args: object, **kwargs: object) -> None:
        """Before the first of them."""
        if fault == "start" and LAST:
            nn.init.zeros_(model.net.head.weight)  # start

    def on_step_end(self, *args: object, **kwargs: object) -> None:
        """After each of them."""
        if fault == "drift" and LAST:
            with torch.no_grad():
                model.net.head.bias += 0.01
        if fault == "same file" and trainer.state.global_step == 5:
            torch.save(model.state_dict(), f"{folder}/model.pt")  # file


def collate(batch: list) -> dict[str, torch.Tensor]:
    """A batch by name."""
    inputs, labels = zip(*batch, strict=True)
    return {"x": torch.stack(inputs), "labels": torch.stack(labels)}


arguments = TrainingArguments(
    folder,
    per_device_train_batch_size=BATCH,
    learning_rate=0.01 if LAST and fault == "learning rate" else 0.001,
    weight_decay=0.1 if LAST and fault == "settings" else 0.0,
    max_steps=STEPS,
    use_cpu=True,
    report_to=[],
    save_strategy="no",
    logging_strategy="no",
    disable_tqdm=True,
)
model = Model()
trainer = Trainer(
    model, arguments, train_dataset=Samples(BATCH * WORLD * STEPS), data_collator=collate,
    callbacks=[Callback()],
)  # fmt: skip
trainer.train()  # train
