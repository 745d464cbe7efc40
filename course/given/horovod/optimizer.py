"""The code around your distributed optimizer: hooks, groups, names, and Horovod's interface."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import torch
from torch import nn

from course.given.horovod.basics import size
from course.given.horovod.compression import Compression
from course.given.horovod.ops import Average

UNDER_WAY = "zero_grad() between backward() and step() would change gradients that are under way"
TWICE = (
    "step() after synchronize() reduces the gradients again: call step() within skip_synchronize()"
)
Group = tuple[nn.Parameter, ...]  # parameters whose gradients travel together


class DistributedBase:
    """The part of a distributed optimizer that is given; yours stands in front of it.

    `_names` has the name of each parameter, `_group_of` its group, `_groups` all groups.
    `_compression` has `compress` and `decompress`; `_op` and the two `_factors` go to the
    operation. `_passes_left` counts the backward passes until a gradient travels. `_sent` has, by
    group, what you put there: the handle, the tensors that travel, the dtypes to restore.
    """

    def _set_up(self, names, compression, backward_passes_per_step, op, factors, groups):
        self._names, self._compression, self._op, self._factors = names, compression, op, factors
        self.backward_passes_per_step = backward_passes_per_step
        self._groups: list[Group] = groups
        self._group_of = {p: group for group in groups for p in group}
        self._should_synchronize, self._synchronized = True, False
        self._start_over()
        if size() > 1:
            for p in self._group_of:
                p.register_post_accumulate_grad_hook(self._hook)

    def _start_over(self) -> None:
        """Nothing has been sent, and each parameter waits for all its passes."""
        self._passes_left = dict.fromkeys(self._group_of, self.backward_passes_per_step)
        self._sent: dict[Group, tuple] = {}

    def _hook(self, p: nn.Parameter) -> None:
        """Autograd calls it in each backward pass, when `p.grad` is complete."""
        if self._passes_left[p] == 0:
            raise AssertionError(
                f"{self._names[p]} got more gradients than backward_passes_per_step = "
                f"{self.backward_passes_per_step} before step()"
            )
        self._gradient_ready(p)

    @contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """Keep `step` from synchronizing, because you have done so, say to clip gradients."""
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True

    def _warn_if_synchronized(self) -> None:
        """Warn of a second reduction: it costs time, and with op=Sum it changes the result."""
        if self._synchronized:
            warnings.warn(TWICE, stacklevel=3)

    def step(self, closure: Callable | None = None) -> object:
        """Take the optimizer's own step."""
        self._synchronized = False
        return super().step(closure)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients as every optimizer does, but not while they are under way."""
        if self._sent:
            raise AssertionError(UNDER_WAY)
        super().zero_grad(set_to_none)


def optimizer_of(yours: type[DistributedBase]) -> Callable[..., torch.optim.Optimizer]:
    """Horovod's `DistributedOptimizer`, made with your class."""

    def DistributedOptimizer(
        optimizer: torch.optim.Optimizer,
        named_parameters: Iterable | None = None,
        compression: type = Compression.none,
        backward_passes_per_step: int = 1,
        op: str = Average,
        gradient_predivide_factor: float = 1.0,
        groups: int | list | None = None,
    ) -> torch.optim.Optimizer:
        """Make an optimizer of the same class, whose `step` first waits for the averaged gradients.

        The gradients of `backward_passes_per_step` passes add up before they travel. The division
        of an average can be split: by `gradient_predivide_factor` before the sum, the rest after.
        `groups`, a number or lists of parameters, makes gradients travel together.
        """
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        numbered = ((f"gradient.{i}", p) for i, p in enumerate(parameters))
        names = {p: name for name, p in named_parameters or numbered}
        if len(set(names.values())) < len(names) or not names.keys() >= set(parameters):
            raise ValueError("named_parameters has to give every parameter a name of its own")
        if gradient_predivide_factor != 1.0 and op != Average:
            raise ValueError("gradient_predivide_factor divides an average: it needs op=Average")
        if backward_passes_per_step < 1:
            raise ValueError("backward_passes_per_step has to be at least 1")
        kind = type(optimizer)
        distributed = type(kind.__name__, (yours, kind), {})(optimizer.param_groups)
        distributed.state = optimizer.state
        factors = 1 / gradient_predivide_factor, gradient_predivide_factor
        trained = _grouped([p for p in parameters if p.requires_grad], groups)
        distributed._set_up(names, compression, backward_passes_per_step, op, factors, trained)
        return distributed

    return DistributedOptimizer


def _grouped(trained: list[nn.Parameter], groups: int | list | None) -> list[Group]:
    """Put every trained parameter in one group.

    `groups` is the number of groups of about equal length to make, or the groups themselves; a
    parameter in none of them forms its own group.
    """
    if isinstance(groups, int) and groups > 0:
        cuts = [len(trained) * i // groups for i in range(groups + 1)]
        return [tuple(trained[a:b]) for a, b in pairwise(cuts) if a < b]
    chosen = [tuple(p for p in group if p.requires_grad) for group in groups or []]
    alone = set(trained).difference(*chosen)
    return [group for group in chosen if group] + [(p,) for p in trained if p in alone]
