"""Faults for a made-up training: each function changes one step of one rank."""

import math

import numpy as np
from diagnostics.right import made

from course.diagnostics.numerics.training import LossTerm, OptimizerStep


def alone(rank: int, step: int, values: dict) -> None:
    """Each rank uses its own gradient."""
    values["used"] = values["first"] = values["own"][rank]


def some(rank: int, step: int, values: dict) -> None:
    """Each rank uses its own gradient of the second parameter."""
    mixed = values["used"].copy()
    mixed[made.COUNTS[0] :] = values["own"][rank][made.COUNTS[0] :]
    values["used"] = values["first"] = mixed


def added(rank: int, step: int, values: dict) -> None:
    """Gradients are summed, not averaged."""
    values["used"] = values["first"] = values["own"].sum(0)


def divided_twice(rank: int, step: int, values: dict) -> None:
    """Averaged gradients are divided by the world size once more."""
    values["used"] = values["first"] = values["own"].mean(0) / len(values["own"])


def loud(rank: int, step: int, values: dict) -> None:
    """Rank 1 scales its gradient."""
    if rank == 1:
        values["used"] = values["used"] * 1.5


def clips_alone(rank: int, step: int, values: dict) -> None:
    """Only rank 1 clips."""
    loud(rank, step, values)
    values["step"].clips = ["train.py:31"] * (rank == 1)


def clips_before(rank: int, step: int, values: dict) -> None:
    """Each rank clips its own gradient before the average."""
    own = values["own"]
    values["first"] = own[rank]
    values["used"] = (own / np.linalg.norm(own, axis=1, keepdims=True)).mean(0)
    values["step"].clips = ["train.py:31"]


def hook(before: np.ndarray, after: np.ndarray, step: OptimizerStep) -> None:
    """A hook of the script changes the gradient of the first parameter."""
    size = made.COUNTS[0]
    step.gradients.hooked = [(0, size, "train.py:18")]
    step.gradients.keep("hooked", np.concatenate([before[:size], after[:size]]))


def hooks_clip(rank: int, step: int, values: dict) -> None:
    """A hook of the script clips the large values on each rank."""
    own = values["own"][rank]
    hook(np.where(np.abs(own) > 1, 3 * own, own), own, values["step"])


def clips_scaled(rank: int, step: int, values: dict) -> None:
    """The gradients are clipped while a scaler's factor is still in them."""
    values["step"].clips, values["step"].early_clip = ["train.py:31"], "train.py:31"


def keeps(rank: int, step: int, values: dict) -> None:
    """The gradients are not zeroed."""
    if step > 1:
        values["step"].gradients.clean = [False, False]
        values["base"] = np.ones(sum(made.COUNTS))


def rate(rank: int, step: int, values: dict) -> None:
    """The learning rates of the ranks differ."""
    values["step"].rates = [0.1 * (rank + 1)]


def later_rate(rank: int, step: int, values: dict) -> None:
    """Rank 1 has another learning rate from step 7 on."""
    if step > 6 and rank == 1:
        values["step"].rates, values["step"].schedule_line = [0.01], "train.py:33"


def setting(rank: int, step: int, values: dict) -> None:
    """The momentum differs."""
    values["step"].settings = f"momentum={0.9 if rank else 0}"


def evaluates(rank: int, step: int, values: dict) -> None:
    """Rank 1 is in evaluation mode from step 5 on."""
    if step > 4 and rank == 1:
        values["step"].passes[0].modes = "evaluation"


def bfloat(rank: int, step: int, values: dict) -> None:
    """Rank 1 computes in bfloat16."""
    values["step"].passes[0].precision = "bfloat16" if rank else "float32"


def same_samples(rank: int, step: int, values: dict) -> None:
    """All ranks have the same samples."""
    values["step"].passes[0].samples = list(range(100 * step, 100 * step + 8))


def infinite(rank: int, step: int, values: dict) -> None:
    """Rank 1 has an infinite loss in step 7."""
    if step == 7 and rank == 1:
        values["step"].passes[0].loss = math.inf


def skips(rank: int, step: int, values: dict) -> None:
    """Rank 1 skips step 5."""
    if step >= 5 and rank == 1:
        values["step"].collectives_so_far += 1


def drifts(rank: int, step: int, values: dict) -> None:
    """Rank 1's weights change before step 6."""
    if step == 6 and rank == 1:
        values["weights"] = values["weights"] + 0.1
        values["step"].before = made.checksums(values["weights"])


def unequal_targets(rank: int, step: int, values: dict) -> None:
    """Each rank divides by its own number of targets."""
    terms = 8 if rank else 2
    values["step"].passes[0].parts = [LossTerm("NllLoss", terms, 1 / terms)]


def undivided(rank: int, step: int, values: dict) -> None:
    """The losses are not divided by the number of passes."""
    for backward_pass in values["step"].passes:
        backward_pass.parts = [LossTerm("NllLoss", 8, 1 / 8)]


def too_fast(rank: int, step: int, values: dict) -> None:
    """The schedule steps in each of two backward passes."""
    values["step"].schedules, values["step"].schedule_line = 2, "train.py:32"


def never_waits(rank: int, step: int, values: dict) -> None:
    """Nothing waits for a message."""
    values["step"].pending = "train.py:26"


def buffers(rank: int, step: int, values: dict) -> None:
    """The buffers differ between the ranks."""
    values["step"].passes[0].buffers = 100 + rank
