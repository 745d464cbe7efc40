"""Pretended GPUs, which a process can switch on where there are none, so that GPU code runs.

The tensors are CPU tensors that remember a pretended device. Anything that CUDA or NCCL would
refuse raises an error; anything that is only slow or wrong on GPUs gives a warning. Streams,
timing, memory and numerics are not modelled, nor are DataParallel, autocast,
`ZeroRedundancyOptimizer`, and layers that `parallelize_module` splits. `pretend_gpus` switches the
GPUs on in its own process, for good; checks of labs 03 and 11c call it. `pretend_torch_cuda` only
makes `torch.cuda` report GPUs, and leaves tensors as they are.
"""

from course.pretended.entry import pretend_gpus, pretend_torch_cuda

__all__ = ["pretend_gpus", "pretend_torch_cuda"]
