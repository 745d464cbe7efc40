"""On a rank: note the script's hooks on its parameters, and how they change a gradient.

Autograd calls all hooks on a parameter, of either kind, before DDP sends the gradient, in whatever
order they were registered. So such a hook changes a rank's own gradient, never the average.
"""

import functools
import sys
from collections.abc import Callable

import torch
from torch import Tensor, nn

from course.diagnostics.numerics.context import RankContext
from course.diagnostics.watch.hook_set import Args, Function, HookSet, Kwargs

ON_GRADIENT, ON_PARAMETER = "register_hook", "register_post_accumulate_grad_hook"
Sample = Callable[[int, Tensor], Tensor | None]  # from a parameter's identity and a gradient
Note = Callable[[int, str, Tensor, Tensor], None]  # with identity, line, gradient before, after


class UserHooks:
    """Wraps each hook of the script, to sample the gradient before and after the hook.

    `sample` returns a copy of some values of a parameter's gradient, or None if it is not sampled.
    `note` receives both copies, and the line that registered the hook.
    """

    def __init__(self, context: RankContext, sample: Sample, note: Note) -> None:
        _, self._lines, self._fence = context
        self._sample, self._note = sample, note

    def install(self, hooks: HookSet) -> None:
        """Install the hooks."""
        hooks.around(self._register, (ON_GRADIENT, ON_PARAMETER), torch.Tensor)

    def _register(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        if not self._fence.is_ours or len(args) != 2 or not isinstance(args[0], nn.Parameter):
            return real(*args, **kwargs)
        parameter, hook = args
        with self._fence.around("gradient hooks"):
            caller = sys._getframe(3)  # outside this method, its guard and the interceptor
            if self._lines.is_own(caller.f_code):  # hooks of libraries are trusted
                around = self._around_gradient if name == ON_GRADIENT else self._around_parameter
                hook = around(hook, id(parameter), self._lines.of(caller))
        return real(parameter, hook)

    def _around_gradient(self, hook: Function, parameter: int, line: str) -> Function:
        @functools.wraps(hook)
        def call(gradient: Tensor) -> Tensor | None:
            before = self._copy(parameter, gradient)
            result = hook(gradient)
            self._compare(parameter, line, before, gradient if result is None else result)
            return result

        return call

    def _around_parameter(self, hook: Function, parameter: int, line: str) -> Function:
        @functools.wraps(hook)
        def call(owner: nn.Parameter) -> object:
            before = self._copy(parameter, owner.grad)
            result = hook(owner)
            self._compare(parameter, line, before, owner.grad)
            return result  # pass it on: torch refuses any but None

        return call

    def _copy(self, parameter: int, gradient: Tensor | None) -> Tensor | None:
        with self._fence.around("gradient hooks"):
            return None if gradient is None else self._sample(parameter, gradient)
        return None

    def _compare(
        self, parameter: int, line: str, before: Tensor | None, gradient: Tensor | None
    ) -> None:
        after = self._copy(parameter, gradient)
        with self._fence.around("gradient hooks"):
            if before is not None and after is not None:
                self._note(parameter, line, before, after)
