"""Does a learner's code leave alone the functions that compare its results?

A script that puts its own in the place of `torch.equal` would pass whatever it computes.
"""

import builtins
import sys

import torch

# What comparisons are made of. Libraries replace other functions of torch when they are imported.
COMPARING = "abs all allclose any arange cat eq equal full isclose isfinite isnan max min stack sum"
COMPARING += " tensor where zeros"
# What scripts change for good reasons.
ALLOWED = ("print",)


def functions() -> dict[str, object]:
    """By full name: Python's own functions, tensors' methods, and torch's that compare."""
    builtin = {f"builtins.{name}": value for name, value in vars(builtins).items()}
    compare = {f"torch.{name}": getattr(torch, name) for name in COMPARING.split()}
    methods = {
        f"torch.Tensor.{name}": value
        for kind in reversed(torch.Tensor.__mro__)
        for name, value in vars(kind).items()
        if callable(value)
    }
    found = builtin | compare | methods
    return {name: value for name, value in found.items() if name.partition(".")[2] not in ALLOWED}


def replaced(before: dict[str, object]) -> str:
    """The first name behind which there is something else than `before`, "" if there is none.

    What the pretended GPUs have put there is known.
    """
    now, pretended = functions(), sys.modules.get("course.pretended.tensors")
    known = pretended.ours if pretended else []
    changed = (name for name, value in before.items() if now.get(name) is not value)
    return next((name for name in changed if not any(now.get(name) is one for one in known)), "")
