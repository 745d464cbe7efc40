"""On a rank: read from the autograd graph of a loss how much one target counts in it.

A backward pass goes from the loss through scalar operations to the reductions: a mean over samples,
a sum, a cross-entropy. The gradient that arrives at a reduction is its factor. A term of a sum
counts as much as this factor, and a term of a mean the factor divided by the number of terms. Torch
does not document the fields of a graph node. If they change, losses are not read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course.core import insides
from course.diagnostics.numerics.training import LossTerm
from course.diagnostics.watch.hook_set import Args, Kwargs

MAX_NODES = 64  # nodes between a loss and its reductions, at most
MEAN, SUM = 1, 2  # torch's codes for `reduction=`
# Nodes that change a scalar and reduce nothing.
SCALAR = ("Add", "Sub", "Mul", "Div", "Neg", "ToCopy", "Squeeze", "View", "Unsqueeze", "Alias",
          "Clone", "Reshape", "Expand", "Where", "NanToNum", "Permute", "Select")  # fmt: skip
SHAPES = ("Unsqueeze", "Squeeze", "View", "Reshape")
LOSSES = ("NllLoss", "MseLoss", "BinaryCrossEntropy", "SmoothL1Loss", "HuberLoss", "KlDiv",
          "SoftMarginLoss", "L1Loss")  # fmt: skip


@dataclass
class Reduction:
    """A reduction of a loss: its terms, whether it is their mean, and the factor on it."""

    name: str
    terms: Any  # a number, or a tensor with one
    is_mean: bool
    factor: Tensor | None = None
    source: Any = None  # the node with the log-probabilities that a cross-entropy or a sum reduces
    width: int = 1  # how many values one term of a sum adds up
    smooth: "Reduction | None" = None  # the sum over classes that smooths this cross-entropy


def reductions(
    root: Tensor | None, add_hook: Callable[[Any, Callable[[Args], None]], None]
) -> list[Reduction] | None:
    """The reductions of a loss, which get their factors in the backward pass; None if unreadable.

    `add_hook` receives a node and a hook, which the caller must remove after the pass.
    """
    if root is None or root.grad_fn is None or root.numel() != 1:
        return None
    ends: list[Reduction] = []
    visited: set[Any] = set()
    nodes = [root.grad_fn]
    while nodes:
        node = nodes.pop()
        if node is None or node in visited:
            continue
        visited.add(node)
        if len(visited) > MAX_NODES:
            return None
        reduction = _reduction(node)
        if reduction:
            add_hook(node, _factor_hook(reduction))
            ends.append(reduction)
        elif node.name().startswith(SCALAR):
            nodes += [child for child, _ in node.next_functions]
        else:
            return None
    return _join_smoothing(ends) or None


def _join_smoothing(reductions: list[Reduction]) -> list[Reduction]:
    """Join each cross-entropy with the sum that smooths its labels: both reduce the same values."""
    sums = {
        reduction.source: reduction
        for reduction in reductions
        if reduction.name == "sum" and reduction.source is not None
    }
    for reduction in reductions:
        if reduction.name == "NllLoss":
            reduction.smooth = sums.pop(reduction.source, None)
    smooth = [id(reduction.smooth) for reduction in reductions if reduction.smooth]
    for reduction in reductions:
        reduction.source = None  # do not keep the graph alive
    return [reduction for reduction in reductions if id(reduction) not in smooth]


def _factor_hook(reduction: Reduction) -> Callable[[Args], None]:
    def keep(gradients: Args) -> None:
        if gradients and gradients[0] is not None:
            reduction.factor = gradients[0].detach()

    return keep


def _reduction(node: Any) -> Reduction | None:
    name = node.name()
    if name == "MeanBackward0":
        return Reduction("mean", int(insides.inside(node, "_saved_self_sym_numel")), True)
    if name == "SumBackward0":
        sizes = torch.Size([int(size) for size in insides.inside(node, "_saved_self_sym_sizes")])
        reduction = Reduction("sum", sizes.numel(), False) if sizes.numel() > 1 else None
        if reduction:
            _widen(reduction, node)
        return reduction
    loss = next((prefix for prefix in LOSSES if name.startswith(prefix)), None)
    if loss is None:
        return None
    kind = getattr(node, "_saved_reduction", MEAN)
    if kind not in (MEAN, SUM):
        return None
    if loss == "NllLoss":
        if getattr(node, "_saved_weight", None) is not None:
            return None
        terms = (
            insides.inside(node, "_saved_target") != insides.inside(node, "_saved_ignore_index")
        ).sum()
    else:
        terms = insides.inside(node, "_saved_self").numel()
    reduction = Reduction(loss, terms, kind == MEAN)
    if loss == "NllLoss":
        reduction.source = _skip(node.next_functions[0][0], SHAPES)
    return reduction


def _widen(reduction: Reduction, node: Any) -> None:
    """If the terms of a sum are sums over classes, note which values those add up, and how many."""
    inside = _skip(node.next_functions[0][0], (*SHAPES, "Neg", "MaskedFill"))
    if inside is not None and inside.name() == "SumBackward1":
        sizes = torch.Size([int(size) for size in insides.inside(inside, "_saved_self_sym_sizes")])
        reduction.source = _skip(inside.next_functions[0][0], SHAPES)
        reduction.width = sizes.numel() // max(1, reduction.terms)


def _skip(node: Any, names: tuple[str, ...]) -> Any:
    """The first node, from this one towards the inputs, whose name has none of these prefixes."""
    while node is not None and node.name().startswith(names):
        node = node.next_functions[0][0]
    return node


def root(args: Args, kwargs: Kwargs) -> Tensor | None:
    """The loss that `backward` was called with; None if there are several."""
    loss = args[0] if args else kwargs.get("tensors")
    if isinstance(loss, (list, tuple)):
        loss = loss[0] if len(loss) == 1 else None
    return loss if isinstance(loss, Tensor) else None


def loss_term(reduction: Reduction) -> LossTerm:
    """How much one target counts in a reduction whose factor has arrived."""
    terms, factor = int(reduction.terms), _magnitude(reduction.factor)
    weight = factor / max(1, terms) if reduction.is_mean else factor
    if reduction.smooth:
        weight += _magnitude(reduction.smooth.factor) * reduction.smooth.width
    return LossTerm(reduction.name, terms, weight)


def _magnitude(factor: Tensor | None) -> float:
    return 0.0 if factor is None else abs(float(factor))
