"""On a rank: hooks that tell the ledger what memory is for, and end the script after its steps."""

import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as modules
from torch.optim import Optimizer
from torch.optim import optimizer as optimizers

from course.core import insides, interceptor
from course.diagnostics.fit.ledger import Ledger, local

STEPS = 2  # after the first, the optimizer has its state and DDP its final buckets

RECURRENT = (
    "Recurrent layers are counted as torch's plain operations; what cuDNN keeps for backward in "
    "their place can be several times as much."
)


class StopScript(BaseException):
    """Ends a script that has taken its steps; not an `Exception`, so that no script catches it."""


class PhaseHooks:
    """Hooks that tell the ledger what the script does, and raise `StopScript` after its steps."""

    def __init__(self, ledger: Ledger, steps: int = STEPS) -> None:
        self._ledger, self._steps = ledger, steps
        self._modules: weakref.WeakSet[nn.Module] = weakref.WeakSet()
        self._depth = 0
        self._steps_taken: dict[int, int] = {}  # steps by optimizer
        self.has_gradients = False
        self.notes: dict[str, None] = {}  # sentences on what makes the account less certain

    def install(self) -> None:
        """Install the hooks, for the rest of this process."""
        modules.register_module_parameter_registration_hook(self._on_register)
        modules.register_module_buffer_registration_hook(self._on_register)
        modules.register_module_forward_pre_hook(self._forward_begins)
        modules.register_module_forward_hook(self._forward_ends, always_call=True)
        optimizers.register_optimizer_step_pre_hook(self._step_begins)
        optimizers.register_optimizer_step_post_hook(self._step_ends)
        insides.replace(torch.autograd, "backward", self._backward(torch.autograd.backward))
        resize = torch.UntypedStorage.resize_
        ledger = self._ledger

        def resize_(self: torch.UntypedStorage, size: int) -> Any:
            done = resize(self, size)
            ledger.resize(self)
            return done

        insides.replace(torch.UntypedStorage, "resize_", resize_)

    @property
    def has_taken_steps(self) -> bool:
        """Whether every optimizer has taken its steps."""
        return bool(self._steps_taken) and min(self._steps_taken.values()) >= self._steps

    @property
    def most_steps(self) -> int:
        """The most steps that any optimizer has taken."""
        return max(self._steps_taken.values(), default=0)

    def _on_register(self, module: nn.Module, name: str, value: Tensor | None) -> None:
        self._modules.add(module)
        if isinstance(module, nn.RNNBase):
            self.notes[RECURRENT] = None
        if value is not None:
            self._ledger.mark([value], "weights")

    def _forward_begins(self, module: nn.Module, inputs: Any) -> None:
        if not self._depth and self._ledger.new_kind == "other":
            if self.has_taken_steps:
                raise StopScript
            self._mark_weights()
            self._ledger.begin_phase("forward", "activations")
        self._depth += 1

    def _forward_ends(self, module: nn.Module, inputs: Any, outputs: Any) -> None:
        self._depth -= 1
        if not self._depth and not torch.is_grad_enabled():
            self._ledger.begin_phase("between passes")

    def _backward(self, real: interceptor.Function) -> interceptor.Function:
        def backward(*args: Any, **kwargs: Any) -> None:
            self._ledger.begin_phase("backward", "activations")
            try:
                real(*args, **kwargs)
            finally:
                self._ledger.begin_phase("between passes")
                self._depth = 0

        return backward

    def _step_begins(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self.has_taken_steps:
            raise StopScript
        self._ledger.begin_phase("the optimizer's step")
        gradients = [
            parameter.grad
            for parameter in self._parameters(optimizer)
            if parameter.grad is not None
        ]
        self.has_gradients |= bool(gradients)
        self._ledger.mark(gradients, "gradients")
        self._ledger.mark(self._parameters(optimizer), "weights")  # also parameters of no module

    def _step_ends(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self._steps_taken[id(optimizer)] = self._steps_taken.get(id(optimizer), 0) + 1
        self._mark_weights()
        self._ledger.mark(_tensors(optimizer), "optimizer")
        if id(optimizer) == next(iter(self._steps_taken)):  # others step in the same training step
            self._ledger.end_step()
        self._ledger.begin_phase("between passes")

    def _parameters(self, optimizer: Optimizer) -> Iterator[Tensor]:
        for group in optimizer.param_groups:
            yield from group["params"]
        for module in self._modules:
            yield from (held for held in module._parameters.values() if held is not None)

    def _mark_weights(self) -> None:
        for module in list(self._modules):
            held = (*module._parameters.values(), *module._buffers.values())
            self._ledger.mark([tensor for tensor in held if tensor is not None], "weights")


def _tensors(optimizer: Optimizer) -> Iterator[Tensor]:
    """Yield the tensors that an optimizer keeps from step to step."""
    for state in optimizer.state.values():
        for value in state.values() if isinstance(state, dict) else ():
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(item, Tensor):
                    yield local(item)
