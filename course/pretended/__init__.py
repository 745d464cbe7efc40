"""GPUs on a box that has none: a process can be told to pretend, so that code for GPUs runs there.

The tensors are CPU tensors that remember a pretended device. What CUDA and NCCL refuse is refused;
what is only slow or wrong there is a warning. Streams, timing, memory and numerics are not
modelled, nor DataParallel, autocast, `ZeroRedundancyOptimizer`, and layers that
`parallelize_module` splits. `pretend_gpus` begins it, for good, in its own process; nothing else
does. A check of lab 03 calls it.
"""

from course.pretended.entry import pretend_gpus

__all__ = ["pretend_gpus"]
