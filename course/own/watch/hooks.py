"""On a rank: what tells a recorder what the script does. The script is not changed.

Public hooks of torch where there are some; else a step between the script and the function that it
calls. All of it is taken away again when the recorder has seen enough.
"""

import sys
from collections.abc import Callable, Sized
from contextlib import AbstractContextManager, ExitStack, suppress

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.data import DataLoader, dataloader

from course.core import insides, interceptor
from course.own.watch import samples
from course.own.watch.ddp import Ddp
from course.own.watch.gpus import Recording
from course.own.watch.recorder import WARM_UP, Recorder
from course.own.watch.timeline import ASYNC, WAITS

PREFIXES = ("all_", "reduce", "broadcast", "gather", "scatter", "monitored_barrier")
COLLECTIVES = tuple(
    name for name in vars(dist) if name.startswith(PREFIXES) and name != "reduce_op"
)
# Not `isend` and `irecv`: `P2POp` compares them with its own. Their `wait` is seen.
OTHERS = ("barrier", "send", "recv", "batch_isend_irecv")


class Hooks:
    """Between a recorder and the libraries, from `install` to `remove`."""

    def __init__(self, recorder: Recorder, recording: Recording) -> None:
        self.recorder = recorder
        self._recording = recording
        self.ddp = Ddp(recorder)
        self.gradients = self.largest = 0  # bytes, and of the largest of them
        self.backend = ""  # by which ranks were joined, "" if they never were
        self._all = ExitStack()
        self._roots: dict[int, nn.Module] = {}
        self._buffers: set[int] = set()  # where those of the roots lie in memory
        self._search: object = None
        self._clock: torch.optim.Optimizer | None = None
        self._optimizing: list[AbstractContextManager] = []  # one may take another's step
        self._pending: dict[int, tuple[str, int, str]] = {}  # by work that goes on

    def install(self) -> None:
        """Begin."""
        self._between(self._join, ("init_process_group",))
        self._between(self._collective, (*COLLECTIVES, *OTHERS))
        self._between(self._wait, ("wait",), dist.Work)
        self._between(self._backward, ("backward",), torch.autograd)
        loaders = insides.inside(dataloader, "_BaseDataLoaderIter")
        self._between(self._draw, ("__next__",), loaders)
        self._between(self._choose, ("_next_index",), loaders)
        self._between(self._open, ("__iter__",), DataLoader)
        self._between(self._save, ("save",), torch, dcp)
        if "safetensors.torch" in sys.modules:  # as transformers saves models
            self._between(self._save, ("save_file",), sys.modules["safetensors.torch"])
        if torch.cuda.is_available():
            self._between(self._copy, ("to", "cuda"), Tensor)
        self._between(self._profile, ("start",), torch.profiler.profile)
        self.ddp.install(self._between)
        self._search = register_module_forward_pre_hook(self._first_calls)
        self._all.callback(lambda: self._search.remove())
        for register, hook in (
            (register_optimizer_step_pre_hook, self._before_optimizer),
            (register_optimizer_step_post_hook, self._after_optimizer),
        ):
            self._all.callback(register(hook).remove)

    def remove(self) -> None:
        """End."""
        self._all.close()
        self.ddp.remove()

    def _between(self, around: Callable, names: tuple[str, ...], *homes: object) -> None:
        self._all.enter_context(interceptor.intercepted(around, names, *([homes] if homes else [])))

    # -- messages ----------------------------------------------------------------------------------

    def _join(self, name: str, real: Callable, args: tuple, kwargs: dict) -> None:
        real(*args, **kwargs)
        self.backend = dist.get_backend()

    def _collective(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        if not self.recorder.active:
            return real(*args, **kwargs)
        sent = list(samples.tensors([args, list(kwargs.values())]))
        nbytes = sum(tensor.nbytes for tensor in sent)
        if not self.recorder.listening:
            self.recorder.beside(name, nbytes)
            return real(*args, **kwargs)
        of_model = self._buffers and all(tensor.data_ptr() in self._buffers for tensor in sent)
        within = self.recorder.kind
        with self.recorder.during("buffers" if sent and of_model else "collective", name, nbytes):
            work = real(*args, **kwargs)
        if isinstance(work, dist.Work):
            self._pending[id(work)] = name, nbytes, within
        return work

    def _wait(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        if self.recorder.kind in WAITS:  # it belongs to what is waited for already
            return real(*args, **kwargs)
        name, nbytes, within = self._pending.pop(id(args[0]), (name, 0, ""))
        with self.recorder.during("collective", f"{name}, {ASYNC}", nbytes, within):
            return real(*args, **kwargs)

    # -- computing ---------------------------------------------------------------------------------

    def _first_calls(self, module: nn.Module, inputs: object) -> None:
        """In the warm-up: find the modules that the script itself calls, and hook those alone."""
        recorder = self.recorder
        if recorder.seen >= WARM_UP:
            self._search.remove()
        elif id(module) not in self._roots and recorder.outside:
            self._roots[id(module)] = module
            self._buffers |= {buffer.data_ptr() for buffer in module.buffers() if buffer.nbytes}
            hook = module.register_forward_pre_hook(self._called, prepend=True, with_kwargs=True)
            self._all.callback(hook.remove)
            recorder.forward()

    def _called(self, module: nn.Module, args: tuple, kwargs: dict) -> None:
        """The script calls a module of its own: with which samples?"""
        if self.recorder.outside:
            if self.recorder.compares:
                self._look(self.recorder.fed, (args, kwargs))
            self.recorder.forward()

    def _look(self, told: Callable, batch: object) -> None:
        with self.recorder.during("watching"), suppress(RuntimeError, TypeError):  # odd tensors
            told(samples.rows(batch))

    def _backward(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        with self.recorder.backward():
            return real(*args, **kwargs)

    def _before_optimizer(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        if self.recorder.seen < WARM_UP:
            grads = [p.grad for group in optimizer.param_groups for p in group["params"]]
            nbytes = [grad.numel() * grad.element_size() for grad in grads if grad is not None]
            self.gradients = max(self.gradients, sum(nbytes))
            self.largest = max(self.largest, *nbytes, 0)
        self._optimizing.append(self.recorder.during("optimizer"))
        self._optimizing[-1].__enter__()

    def _after_optimizer(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        self._optimizing.pop().__exit__(None, None, None)
        self._clock = self._clock or optimizer  # of several, the first one ends a step
        if optimizer is self._clock:
            self.recorder.turn("optimizer")

    # -- data --------------------------------------------------------------------------------------

    def _draw(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        with self.recorder.during("input"):
            batch = real(*args, **kwargs)
        self._look(self.recorder.drew, batch)
        self.recorder.turn("loader")
        return batch

    def _choose(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        indices = real(*args, **kwargs)
        self.recorder.chose(samples.marks(indices))
        return indices

    def _open(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        data = args[0].dataset
        self.recorder.loader_started(len(data) if isinstance(data, Sized) else 0)
        with self.recorder.during("input"):
            return real(*args, **kwargs)

    def _save(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        with self.recorder.during("saving"):
            return real(*args, **kwargs)

    def _profile(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        self._recording.taken()
        return real(*args, **kwargs)

    def _copy(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        if args[0].is_cuda:
            return real(*args, **kwargs)
        with self.recorder.during("copies"):
            return real(*args, **kwargs)
