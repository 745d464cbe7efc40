"""What the checks of `way_ddp` do on each rank: run the learner's script on a smaller task."""

import importlib
import runpy

import torch
from torch import Tensor, nn
from torch.utils.data import Subset, TensorDataset

import course
from course.checks.tools.reference import weights
from course.data import digits
from course.models import image_model

BATCH, SAMPLES, CHECKED = 64, 256, 98  # 98 images cannot be shared out evenly to 4 ranks
WRONG = slice(40, 50)  # the images whose label is wrong; none that a sampler repeats or drops
# To the end of the process: the group that DDP holds may hang when it is destroyed; see
# `course.launch.forked`.
records: list[dict] = []


def converted() -> tuple[list[Tensor], float, list[float]]:
    """The weights at the end of the learner's script on this rank, its count of right labels, and
    the accuracies that it logs.

    The validation set has the labels that `alone` gives, and other ones for the images `WRONG`.
    """
    task, training = importlib.import_module("same_task"), digits.load()[0]
    images = training[SAMPLES : SAMPLES + CHECKED][0]
    task.train = Subset(training, range(SAMPLES))
    labels = alone()(images).argmax(1)
    labels[WRONG] = (labels[WRONG] + 1) % 10
    task.validation = TensorDataset(images, labels)
    logged = []
    course.log = lambda **row: logged.append(row)
    end = runpy.run_module("way_ddp")
    records.append(end)
    shares = [float(row["accuracy"]) for row in logged if "accuracy" in row]
    return weights(end["model"]), float(end["right"]), shares


def alone() -> nn.Module:
    """The model after the same training in a single process."""
    images, labels = digits.load()[0][:SAMPLES]
    torch.manual_seed(0)
    model = image_model(batch_norm=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(2):
        for start in range(0, SAMPLES, BATCH):
            batch = slice(start, start + BATCH)
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model
