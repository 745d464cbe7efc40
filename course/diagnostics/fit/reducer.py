"""On a rank: a stand-in for DistributedDataParallel's C++ reducer, which reads gradients.

Gradients without memory cannot be read. The rest of DDP is torch's own. The stand-in holds the same
memory as the reducer: at first a flat buffer for each bucket, and from the second pass on new
buffers, in the order in which gradients came (torch/csrc/distributed/c10d/reducer.cpp).
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import distributed

from course.core import insides, interceptor
from course.diagnostics.fit.torch_insides import bucket_assignment


class Bucket:
    """A bucket as a communication hook sees it, like `dist.GradBucket`."""

    def __init__(self, number: int, parameters: list[Tensor], is_last: bool) -> None:
        self._number, self._parameters, self._is_last = number, parameters, is_last
        first = parameters[0]
        size = sum(parameter.numel() for parameter in parameters)
        self.flat = first.new_empty(size)
        self.missing = len(parameters)

    def index(self) -> int:
        return self._number

    def buffer(self) -> Tensor:
        return self.flat

    def set_buffer(self, tensor: Tensor) -> None:
        self.flat = tensor

    def is_last(self) -> bool:
        return self._is_last

    def parameters(self) -> list[Tensor]:
        return self._parameters

    def gradients(self) -> list[Tensor]:
        """The gradients of the parameters, each a view of the buffer."""
        sizes = [parameter.numel() for parameter in self._parameters]
        parts = zip(self.flat.split(sizes), self._parameters, strict=True)
        return [part.view(parameter.shape) for part, parameter in parts]


class Reducer:
    """Takes the arguments of `dist.Reducer`, and copies gradients to and from its buckets."""

    def __init__(
        self,
        parameters: list[Tensor],
        indices: list[list[int]],
        limits: list[int],
        group: dist.ProcessGroup,
        sparse: list[bool],
        cap: int,
        find_unused: bool,
        as_view: bool,
        names: dict[int, str],
        first_cap: int,
        *more: Any,
    ) -> None:
        self._parameters, self._group, self._sparse = parameters, group, sparse
        self._as_view, self._may_rebuild = as_view, not find_unused
        lists = [argument for argument in more if isinstance(argument, (list, tuple))]
        self._limits = list(lists[0]) if lists and lists[0] else [first_cap, cap]
        self.hook: Callable[[Bucket], Any] | None = None
        self._order: list[int] = []  # in which gradients came in the first pass that is sent
        self._is_sending = False
        self._handles = [
            parameter.register_post_accumulate_grad_hook(self._ready_hook(index))
            for index, parameter in enumerate(parameters)
        ]
        self._make_buckets(indices)

    def _make_buckets(self, indices: list[list[int]]) -> None:
        self._buckets: list[Bucket] = []  # frees the old buckets before new ones are made
        self._slots: dict[int, tuple[Bucket, int]] = {}
        for number, members in enumerate(indices):
            parts = [self._parameters[index] for index in members]
            bucket = Bucket(number, parts, number == len(indices) - 1)
            self._buckets.append(bucket)
            self._slots |= {index: (bucket, place) for place, index in enumerate(members)}

    def prepare_for_forward(self) -> None:
        """Do nothing: a forward pass needs no preparation."""

    def prepare_for_backward(self, outputs: list[Tensor]) -> None:
        """Expect the next backward pass to send its gradients."""
        self._is_sending = True
        for bucket in self._buckets:
            bucket.missing = len(bucket.parameters())

    def _rebuild_buckets(self) -> bool:
        if not self._may_rebuild or len(self._order) != len(self._parameters):
            return False
        self._may_rebuild = False
        tensors = [self._parameters[index] for index in self._order]
        indices, _ = bucket_assignment(
            tensors, self._limits, [self._sparse[index] for index in self._order], self._order
        )
        self._make_buckets(indices)
        return True

    def _ready_hook(self, index: int) -> Callable[[Tensor], None]:
        def ready(parameter: Tensor) -> None:
            gradient = parameter.grad
            if gradient is None or not self._is_sending:
                return
            if self._may_rebuild and index not in self._order:
                self._order.append(index)
            bucket, place = self._slots[index]
            view = bucket.gradients()[place]
            view.copy_(gradient)
            if self._as_view:
                parameter.grad = view
            bucket.missing -= 1
            if not bucket.missing:
                self._send(bucket)

        return ready

    def _send(self, bucket: Bucket) -> None:
        if self.hook is None:
            dist.all_reduce(bucket.flat, group=self._group)
        else:
            done = self.hook(bucket).wait()
            done = done[0] if isinstance(done, (list, tuple)) else done
            if done is not bucket.flat:
                bucket.flat.copy_(done.view(-1))
        if not self._as_view:
            for parameter, view in zip(bucket.parameters(), bucket.gradients(), strict=True):
                if parameter.grad is not None:
                    parameter.grad.copy_(view)
        if all(not b.missing for b in self._buckets):
            self._is_sending = False

    def _set_static_graph(self) -> None:
        self._may_rebuild = True

    def _remove_autograd_hooks(self) -> None:
        for handle in self._handles:
            handle.remove()

    def __getattr__(self, name: str) -> Any:
        """A function that does nothing: other methods that DDP calls change no memory."""
        if name.startswith("__"):
            raise AttributeError(name)
        return do_nothing


class Logger:
    """Accepts what DDP logs about itself, and drops it."""

    def __init__(self, reducer: Reducer) -> None:
        self._reducer = reducer

    def __getattr__(self, name: str) -> Any:
        return do_nothing


def install() -> None:
    """Make DDP use the stand-in from now on."""
    insides.replace(distributed, "_verify_param_shape_across_processes", do_nothing)
    insides.replace(dist, "Reducer", Reducer)
    insides.replace(dist, "Logger", Logger)
    insides.replace(dist, "_broadcast_coalesced", _broadcast)
    insides.replace(dist, "_register_comm_hook", _register)
    insides.replace(dist, "_register_builtin_comm_hook", do_nothing)
    real_init = distributed.DistributedDataParallel.__init__

    def init(self: Any, module: Any, device_ids: Any = None, output_device: Any = None,
             *args: Any, **kwargs: Any) -> None:  # fmt: skip
        real_init(self, module, None, None, *args, **kwargs)

    insides.replace(distributed.DistributedDataParallel, "__init__", init)


def do_nothing(*args: Any, **kwargs: Any) -> None:
    """Take the place of a function of torch that a rehearsal does not need."""


def _register(reducer: Reducer, state: Any, hook: interceptor.Function) -> None:
    reducer.hook = lambda bucket: hook(state, bucket)


def _broadcast(group: Any, tensors: list[Tensor], size: int, source: int = 0) -> None:
    """Broadcast as DDP's C++ code does, by flat copies of one tensor or of at most `size` bytes."""
    limit = [size] * len(tensors)
    indices, _ = bucket_assignment(tensors, limit[:1])
    with torch.no_grad():
        for members in indices:
            flat = torch.cat([tensors[index].reshape(-1) for index in members])
            dist.broadcast(flat, source, group=group)
            parts = flat.split([tensors[index].numel() for index in members])
            for index, part in zip(members, parts, strict=True):
                tensors[index].copy_(part.view(tensors[index].shape))
