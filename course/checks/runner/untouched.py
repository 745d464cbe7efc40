"""Find out whether a learner's code replaces the functions that compare its results.

A script that replaces `torch.equal` by its own function would pass whatever it computes.
"""

import builtins
import sys

import torch

# Functions that comparisons use. Of the others, libraries replace some when they are imported.
COMPARING = "abs all allclose any arange cat eq equal full isclose isfinite isnan max min stack sum"
COMPARING += " tensor where zeros"
# Functions that scripts replace for good reasons.
ALLOWED = ("print",)


def functions() -> dict[str, object]:
    """Python's built-ins, tensors' methods, and torch's comparing functions, by full name."""
    builtin = {f"builtins.{name}": value for name, value in vars(builtins).items()}
    compare = {f"torch.{name}": getattr(torch, name) for name in COMPARING.split()}
    methods = {
        f"torch.Tensor.{name}": value
        for kind in reversed(torch.Tensor.__mro__)
        for name, value in vars(kind).items()
        if callable(value)
    }
    watched = builtin | compare | methods
    return {name: value for name, value in watched.items() if name.partition(".")[2] not in ALLOWED}


def first_replaced(before: dict[str, object]) -> str:
    """The first name whose function is not the one in `before`; "" if there is none.

    The functions that the pretended GPUs replace are allowed.
    """
    now, pretended = functions(), sys.modules.get("course.pretended.tensors")
    allowed = pretended.ours if pretended else []
    changed = (name for name, value in before.items() if now.get(name) is not value)
    return next(
        (name for name in changed if not any(now.get(name) is function for function in allowed)), ""
    )
