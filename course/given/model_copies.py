"""Copies of a model on several devices, whose gradients add up in the original."""

import torch
from torch import Tensor, nn
from torch.autograd import Function


class Broadcast(Function):
    """The master's tensors on every device; on the way back, the sum of what they return."""

    @staticmethod
    def forward(ctx, devices: list[torch.device], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.count = len(devices)
        own = [tensor.view_as(tensor) for tensor in tensors]  # the master's replica uses its memory
        copies = [[t.to(device, copy=True) for t in tensors] for device in devices[1:]]  # out
        every = [own, *copies]
        # What is not trained needs no gradient.
        fixed = [i for i, trained in enumerate(ctx.needs_input_grad[1:]) if not trained]
        ctx.mark_non_differentiable(*(tensors[i] for tensors in every for i in fixed))
        return tuple(tensor for tensors in every for tensor in tensors)

    @staticmethod
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        size = len(gradients) // ctx.count
        returned = [gradients[i * size : (i + 1) * size] for i in range(ctx.count)]
        return None, *(sum(parts[1:], parts[0]) for parts in zip(*returned, strict=True))  # back


def replicate(module: nn.Module, devices: list[torch.device]) -> list[nn.Module]:
    """A copy of the module on each device; gradients of the copies add up in the original."""
    parameters = list(module.parameters())
    count = len(parameters)
    copied = Broadcast.apply(devices, *parameters)
    replicas = []
    for i, device in enumerate(devices):
        here = dict(zip(parameters, copied[i * count : (i + 1) * count], strict=True))
        for buffer in module.buffers():
            here[buffer] = buffer.to(device, copy=True) if i else buffer
        # Torch's own: a copy of a module without its weights.
        twins = {part: part._replicate_for_data_parallel() for part in module.modules()}
        for part, twin in twins.items():
            twin._modules = {name: twins.get(child) for name, child in part._modules.items()}
            twin._buffers = {name: here.get(buffer) for name, buffer in part._buffers.items()}
            twin._former_parameters = {name: here.get(p) for name, p in part._parameters.items()}
            for name, copy in twin._former_parameters.items():
                setattr(twin, name, copy)
        replicas.append(twins[module])
    return replicas


def weights(replica: nn.Module) -> list[Tensor]:
    """A replica's copies of the parameters; it has none of its own, since these are no leaves."""
    return [
        copy
        for part in replica.modules()
        for copy in part._former_parameters.values()
        if copy is not None
    ]
