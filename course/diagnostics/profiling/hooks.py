"""On a rank: the hooks that tell a recorder what the script does, until it has recorded enough."""

import sys
from collections.abc import Callable
from types import ModuleType

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.utils.hooks import RemovableHandle

from course.core import dist_names
from course.diagnostics.profiling.ddp import DdpHooks
from course.diagnostics.profiling.gpus import GpuRecording
from course.diagnostics.profiling.loaders import LoaderHooks
from course.diagnostics.profiling.recorder import During, Recorder
from course.diagnostics.profiling.timeline import ASYNC, WAITS
from course.diagnostics.watch import frames, samples
from course.diagnostics.watch.hook_set import (
    COLLECTIVES,
    Args,
    Function,
    HookSet,
    Kwargs,
    note_group,
)
from course.diagnostics.watch.module_hook import ModuleHook

# `isend` and `irecv` are left out, because `P2POp` checks that it gets the original functions.
# Their `wait` is hooked.
MESSAGES = (*COLLECTIVES, *dist_names.BARRIERS, "send", "recv", "batch_isend_irecv")
HALF = (torch.float16, torch.bfloat16)
# DTensor sends with these functions. It waits for a tensor when the tensor is first used.
FUNCTIONAL = "torch.distributed._functional_collectives"
FUNCTIONS = ("all_reduce", "all_gather_tensor", "reduce_scatter_tensor", "all_to_all_single")
# Functions that write a checkpoint, besides `torch.save`. Most scripts import neither module.
SAVES = {
    "torch.distributed.checkpoint": ("save", "async_save"),
    "safetensors.torch": ("save_file", "serialize_file"),  # the first calls the second
}
FRAMEWORKS = {"transformers.trainer": "Trainer", "accelerate.optimizer": "accelerate"}


class Hooks:
    """Connects a recorder with the libraries, from `install` to `remove`."""

    def __init__(self, recorder: Recorder, recording: GpuRecording) -> None:
        self._recorder, self._recording = recorder, recording
        self._ddp, self._loaders = DdpHooks(recorder), LoaderHooks(recorder)
        self._hooks = HookSet()
        self._roots: dict[int, nn.Module] = {}
        self._buffers: set[int] = set()  # addresses of the roots' buffers
        self._search: RemovableHandle | None = None
        self._step_ender: torch.optim.Optimizer | None = None  # ends a step
        self._optimizer_steps: list[During] = []  # a stack: steps may be nested
        # Name, bytes and kind of the messages in flight, by the id of the work or by the address.
        self._pending: dict[int, tuple[str, int, str]] = {}

    def install(self) -> None:
        """Install the hooks."""
        hooks = self._hooks
        hooks.around(self._join, ("init_process_group",))
        hooks.around(self._collective, MESSAGES)
        hooks.around(self._wait, ("wait",), dist.Work)
        hooks.around(self._backward, ("backward",), torch.autograd)
        hooks.around(self._save, ("save",), torch)
        hooks.on_import(FUNCTIONAL, self._hook_functional)
        for module, names in SAVES.items():
            hooks.on_import(module, self._saver(names))
        if torch.cuda.is_available():
            hooks.around(self._copy, ("to", "cuda"), Tensor)
        hooks.around(self._profile, ("start",), torch.profiler.profile)
        self._ddp.install(hooks)
        self._loaders.install(hooks)
        self._search = register_module_forward_pre_hook(self._find_roots)
        hooks.add(self._search)
        hooks.steps(self._before_optimizer, self._after_optimizer)

    def remove(self) -> None:
        """Remove the hooks."""
        self._hooks.remove()
        self._ddp.remove()

    # -- messages ----------------------------------------------------------------------------------

    def _join(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> None:
        real(*args, **kwargs)
        note_group(self._recorder.report)

    def _collective(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        if not self._recorder.active:
            return real(*args, **kwargs)
        sent = list(samples.tensors([args, list(kwargs.values())]))
        nbytes = sum(tensor.nbytes for tensor in sent)
        if not self._recorder.listening:
            self._recorder.note_other_message(name, nbytes)
            return real(*args, **kwargs)
        of_model = self._buffers and all(tensor.data_ptr() in self._buffers for tensor in sent)
        within = self._recorder.kind
        with self._recorder.during("buffers" if sent and of_model else "collective", name, nbytes):
            work = real(*args, **kwargs)
        if isinstance(work, dist.Work):
            self._pending[id(work)] = name, nbytes, within
        return work

    def _wait(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        if self._recorder.kind in WAITS:  # a part of another wait
            return real(*args, **kwargs)
        name, nbytes, within = self._pending.pop(id(args[0]), (name, 0, ""))
        with self._recorder.during("collective", f"{name}, {ASYNC}", nbytes, within):
            return real(*args, **kwargs)

    def _hook_functional(self, module: ModuleType) -> None:
        self._hooks.around(self._begin_functional, FUNCTIONS, module)
        self._hooks.around(self._wait_tensor, ("wait_tensor",), module)

    def _begin_functional(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        result = real(*args, **kwargs)
        sent = getattr(result, "elem", None)  # the data of a tensor that is still in flight
        if sent is not None and self._recorder.listening:
            self._pending[sent.data_ptr()] = name, sent.nbytes, self._recorder.kind
        return result

    def _wait_tensor(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        if self._recorder.kind in WAITS or not self._recorder.listening:
            return real(*args, **kwargs)
        name, nbytes, within = self._pending.pop(args[0].data_ptr(), (name, args[0].nbytes, ""))
        with self._recorder.during("collective", name, nbytes, within):
            return real(*args, **kwargs)

    # -- computing ---------------------------------------------------------------------------------

    def _find_roots(self, module: nn.Module, inputs: object) -> None:
        """In the warm-up, find the modules that the script itself calls, and hook only those."""
        recorder = self._recorder
        if recorder.warm:
            if self._search:
                self._search.remove()
        elif id(module) not in self._roots and recorder.may_begin_forward:
            self._roots[id(module)] = module
            self._buffers |= {buffer.data_ptr() for buffer in module.buffers() if buffer.nbytes}
            self._note_sharding(module)
            hook = ModuleHook(self._on_call)
            handle = module.register_forward_pre_hook(hook, prepend=True, with_kwargs=True)
            self._hooks.add(handle)
            recorder.forward()

    def _note_sharding(self, module: nn.Module) -> None:
        """Note which version of FSDP shards a module, if any, and whether it sends 16 bits."""
        if "torch.distributed.fsdp" not in sys.modules:
            return
        from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel

        script = self._recorder.report.script
        for submodule in module.modules():
            if isinstance(submodule, FSDPModule):
                script.sharded = "fully_shard"
                state = getattr(submodule, "_get_fsdp_state", lambda: None)()
                policy = getattr(state, "_mp_policy", None)
            elif isinstance(submodule, FullyShardedDataParallel):
                script.sharded = "FSDP"
                policy = submodule.mixed_precision
            else:
                continue
            script.half |= bool(policy) and (policy.reduce_dtype or policy.param_dtype) in HALF

    def _on_call(self, module: nn.Module, args: Args, kwargs: Kwargs) -> None:
        """Note that the script calls a module, and with which samples."""
        if self._recorder.may_begin_forward:
            if self._recorder.records_inputs:
                self._loaders.record_samples(self._recorder.on_model_input, (args, kwargs))
            self._recorder.forward()

    def _backward(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        self._recorder.report.script.detects_anomalies = torch.is_anomaly_enabled()
        with self._recorder.backward():
            return real(*args, **kwargs)

    def _before_optimizer(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        if not self._recorder.warm:
            self._note_optimizer(optimizer)
        self._optimizer_steps.append(self._recorder.during("optimizer"))
        self._optimizer_steps[-1].__enter__()

    def _note_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        report = self._recorder.report
        grads = [p.grad for group in optimizer.param_groups for p in group["params"]]
        nbytes = [grad.numel() * grad.element_size() for grad in grads if grad is not None]
        report.gradients = max(report.gradients, sum(nbytes))
        report.largest_gradient = max(report.largest_gradient, *nbytes, 0)
        script = report.script
        if not script.optimizer:
            script.optimizer = type(optimizer).__name__
            script.fused = bool(optimizer.defaults.get("fused"))
            script.foreach = bool(optimizer.defaults.get("foreach"))
            script.framework = _framework()

    def _after_optimizer(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        self._optimizer_steps.pop().__exit__(None, None, None)
        self._step_ender = self._step_ender or optimizer  # the first of several
        if optimizer is self._step_ender:
            self._recorder.tick("optimizer")

    # -- other work --------------------------------------------------------------------------------

    def _saver(self, names: tuple[str, ...]) -> Callable[[ModuleType], None]:
        return lambda module: self._hooks.around(self._save, names, module)

    def _save(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        self._recorder.report.script.async_save |= name == "async_save"
        with self._recorder.during("saving"):
            return real(*args, **kwargs)

    def _profile(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        self._recording.give_way()
        return real(*args, **kwargs)

    def _copy(self, name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        if args[0].is_cuda:
            return real(*args, **kwargs)
        with self._recorder.during("copies"):
            return real(*args, **kwargs)


def _framework() -> str:
    """The framework on the stack that takes this step; "" if the script itself takes it."""
    names = set(frames.modules(sys._getframe(1)))
    return next((framework for module, framework in FRAMEWORKS.items() if module in names), "")
