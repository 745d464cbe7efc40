"""On a rank: find the models that the script itself calls, and note their samples and modes."""

import weakref
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from torch.nn.parallel import DistributedDataParallel
from torch.utils.hooks import RemovableHandle

from course.core import insides
from course.diagnostics.numerics import module_state
from course.diagnostics.numerics.buffers import Buffers, floating
from course.diagnostics.numerics.context import RankContext
from course.diagnostics.numerics.training import BackwardPass, DdpModel, InferenceModel
from course.diagnostics.watch import samples
from course.diagnostics.watch.hook_set import Args, Function, HookSet, Kwargs
from course.diagnostics.watch.module_hook import ModuleHook

MAX_LINES = 20_000  # parameters whose line is kept, at most


@dataclass
class Root:
    """A model that the script calls, and the modules inside it.

    The reference is weak, because a DDP that outlives its process group may hang.
    """

    module: weakref.ref[nn.Module]
    modules: list[nn.Module]
    parameters: dict[int, str]
    buffers: list[torch.Tensor] = field(default_factory=list)


class ModelCalls:
    """Finds the script's models, hooks them, and describes the script's calls of them.

    A global hook on all modules finds them. It is removed while a known model runs, so it costs
    nothing inside models. After the window of steps, it still finds models that are called without
    gradients. `steps` returns the number of steps of all optimizers. `on_inference` is called
    whenever a model is called without gradients, until the script ends.
    """

    def __init__(
        self, context: RankContext, steps: Callable[[], int], on_inference: Callable[[], None]
    ) -> None:
        self._report, self._lines, self._fence = context
        self._steps, self._on_inference, self._closed = steps, on_inference, False
        self.buffers = Buffers(context, steps)
        self.roots: dict[int, Root] = {}
        self.names: dict[int, str] = {}
        self.made_lines: dict[int, str] = {}
        self.others: dict[int, InferenceModel] = {}  # models that were called without gradients
        self.first_weights: dict[int, int] = {}  # the identity of each such model's first weight
        self.next_pass = BackwardPass()  # the record of the coming backward pass
        self.in_backward = False
        self._depth = 0
        self._inside_ddp: set[int] = set()  # modules inside a DDP, by identity
        self._wrapped: dict[int, DdpModel] = {}
        self._state_before = 0  # a checksum of torch's generator before a call
        self._may_have_grown = True  # whether a model may have new parameters
        self._search: RemovableHandle | None = None

    def install(self, hooks: HookSet) -> None:
        """Install the hooks, and begin to search for models."""
        guard = self._fence.guard
        hooks.around(self._wrap, ("__init__",), DistributedDataParallel)
        hooks.add(register_module_parameter_registration_hook(guard(self._on_parameter)))
        hooks.add(register_module_module_registration_hook(guard(self._on_submodule)))
        self._start_search()

    def close(self) -> None:
        """End the window of steps, and release the modules and tensors of the models."""
        self._closed = True
        for root in self.roots.values():
            root.modules.clear()
            root.parameters.clear()
            root.buffers.clear()

    def remove(self) -> None:
        """Stop searching for models."""
        self._stop_search()

    def _start_search(self) -> None:
        """Search for unknown models until a known one is called."""
        if not self._search:
            hook = self._fence.guard(self._on_forward)
            self._search = register_module_forward_pre_hook(hook)

    def _stop_search(self) -> None:
        if self._search:
            self._search.remove()
            self._search = None

    @property
    def is_inside(self) -> bool:
        """Whether a model of the script is running its forward pass."""
        return self._depth > 0

    def name(self, parameter: nn.Parameter) -> str:
        """The parameter's name in its model; "" if no known model has it."""
        return self.names.get(id(parameter), "")

    def made_at(self, parameter: nn.Parameter) -> str:
        """The line that made the parameter; "" if that was not seen."""
        return self.made_lines.get(id(parameter), "")

    # -- how models are made -----------------------------------------------------------------------

    def parameters(self) -> Iterator[nn.Parameter]:
        """Yield the parameters of all models, if there may be new ones; otherwise none."""
        roots = list(self.roots.values()) if self._may_have_grown else []
        self._may_have_grown = False
        for root in roots:
            if (module := root.module()) is not None:
                yield from module.parameters()

    def _on_submodule(self, *_: object) -> None:
        self._may_have_grown = True

    def _on_parameter(self, module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        self._may_have_grown = True
        if parameter is not None and len(self.made_lines) < MAX_LINES and self._fence.is_ours:
            with self._fence.around("lines"):
                self.made_lines[id(parameter)] = self._lines.here()

    def _wrap(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> None:
        real(*args, **kwargs)
        if not self._fence.is_ours:
            return
        with self._fence.around("weights at start"):
            ddp = args[0]
            ignored = [module_state.bare_name(n) for n in getattr(ddp, "parameters_to_ignore", ())]
            tied = [
                (n, p) for n, p in module_state.named(ddp) if p.requires_grad and n not in ignored
            ]
            names = [n for n, _ in tied]
            wrapped = DdpModel(
                self._lines.here(), names, module_state.checksums(tied), ignored=ignored
            )
            wrapped.buffers = len(list(ddp.buffers()))
            self._report.wrapped.append(wrapped)
            self._wrapped[id(ddp)] = wrapped
            self._inside_ddp |= {id(submodule) for submodule in ddp.module.modules()}
            ddp.module.register_forward_pre_hook(self._hook(self._note_inference))
            self._add_root(ddp)

    # -- how they are called -----------------------------------------------------------------------

    def _on_forward(self, module: nn.Module, args: Args) -> None:
        """Note that a module is called; if it is called outside all others, it is a model."""
        if self._depth or not self._is_watched():
            return
        grad = torch.is_grad_enabled()  # ask now: the fence turns it off
        if self._known_root(module) or (self._closed and (grad or not module_state.named(module))):
            return
        with self._fence.around("models"):
            self._add_root(module)
            self._on_call(module, args, {}, grad)
        self._note_generator(grad)
        self._stop_search()
        self._depth += 1

    def _is_watched(self) -> bool:
        """Whether calls count now: not in a backward pass, and not while torch.func transforms.

        A transform, such as `torch.func.grad`, calls the model with tensors that have no values to
        read, and computes gradients of its own.
        """
        is_inside = insides.inside(insides.inside(torch, "_C"), "_are_functorch_transforms_active")
        return self._fence.is_ours and not self.in_backward and not is_inside()

    def _known_root(self, module: nn.Module) -> Root | None:
        root = self.roots.get(id(module))
        return root if root and root.module() is module else None

    def _add_root(self, module: nn.Module) -> Root:
        root = self.roots[id(module)] = Root(weakref.ref(module), [], {})
        self._may_have_grown = True
        if not self._closed:
            root.modules = [submodule for submodule in module.modules() if submodule is not module]
            for name, parameter in module_state.named(module):
                root.parameters[id(parameter)] = name
                self.names.setdefault(id(parameter), name)
            self._report.tensor_parallel |= module_state.is_split(module)
            root.buffers = floating(module)
        module.register_forward_pre_hook(self._hook(self._note_inference))
        module.register_forward_pre_hook(self._hook(self._before), prepend=True, with_kwargs=True)
        module.register_forward_hook(self._hook(self._after), always_call=True)
        return root

    def _hook(self, call: Callable[..., None]) -> ModuleHook:
        return ModuleHook(self._fence.guard(call))

    def _note_inference(self, module: nn.Module, args: Args) -> None:
        """Note a call without gradients, also after the window: these hooks are never removed."""
        if torch.is_grad_enabled() or not self._fence.is_ours:
            return
        if not (module.training and module_state.tracks_statistics(module)):  # as in `update_bn`
            self._on_inference()

    def _before(self, module: nn.Module, args: Args, kwargs: Kwargs) -> None:
        if not self._is_watched():
            return
        if self._depth == 0:
            self._stop_search()
            grad = torch.is_grad_enabled()
            with self._fence.around("models"):
                self._on_call(module, args, kwargs, grad)
            self._note_generator(grad)
        self._depth += 1

    def _note_generator(self, grad: bool) -> None:
        """Note the state of the generator before the call, to see whether the model draws."""
        is_watched = grad and not self._closed and not self.next_pass.noise
        self._state_before = _generator_state() if is_watched else 0

    def _after(self, module: nn.Module, *_: object) -> None:
        if not self._is_watched():
            return
        self._depth = max(0, self._depth - 1)
        if self._depth:
            return
        self._start_search()
        if self._state_before and self._state_before != _generator_state():
            self.next_pass.noise = self._state_before

    def _on_call(self, module: nn.Module, args: Args, kwargs: Kwargs, grad: bool) -> None:
        """Describe a call of a model by the script, with gradients or without."""
        root = self.roots[id(module)]
        if self._closed and grad:
            return
        if not grad or not any(parameter.requires_grad for parameter in module.parameters()):
            self._without_gradients(module)
            return
        backward_pass, line = self.next_pass, self._lines.here()
        if not backward_pass.called:
            backward_pass.called = line
            backward_pass.modes = module_state.modes(module, root.modules)
            backward_pass.precision = module_state.precision(module)
            with self._fence.around("buffers"):
                backward_pass.buffers = self.buffers.at_pass(module, root.buffers)
        ddp = isinstance(module, DistributedDataParallel)
        backward_pass.syncs |= ddp and bool(module.require_backward_grad_sync)
        if not ddp and id(module) in self._inside_ddp:
            backward_pass.bypassed = backward_pass.bypassed or line
        if (wrapped := self._wrapped.get(id(module))) and not wrapped.at_first_call:
            tied = [(n, p) for n, p in module_state.named(module) if n in set(wrapped.names)]
            wrapped.at_first_call = module_state.checksums(tied)
        with self._fence.around("samples"):
            backward_pass.samples += samples.rows((args, kwargs))

    def _without_gradients(self, module: nn.Module) -> None:
        if not module.training:
            self._report.evaluated = True
            with self._fence.around("buffers"):
                self.buffers.note_evaluation(module)
        if (
            id(module) not in self.others
            and (named := module_state.named(module))
            and not module_state.is_sharded(module)
        ):
            mark = zlib.crc32(repr(module_state.checksums(named)).encode())
            made = self.made_lines.get(id(named[0][1]), "")
            self.others[id(module)] = InferenceModel(
                type(module).__name__, self._lines.here(), made, mark, self._steps()
            )
            self.first_weights[id(module)] = id(named[0][1])


def _generator_state() -> int:
    return zlib.crc32(torch.get_rng_state().numpy().tobytes())
