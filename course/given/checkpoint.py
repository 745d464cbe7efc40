"""Save and load what a training run needs to continue."""

import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn


def save(path: Path, step: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Save on rank 0, under another name first: a crash in between leaves the old checkpoint."""
    if dist.get_rank() == 0:
        parts = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save({"step": step, **parts}, path.with_suffix(".new"))
        os.replace(path.with_suffix(".new"), path)


def load(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Load the checkpoint; return the number of steps done, 0 if there is no checkpoint."""
    if not path.exists():
        return 0
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]
