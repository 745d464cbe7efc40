"""The internals of torch that a rehearsal needs; if a release lacks one, an error says so."""

from typing import Any

import torch
import torch.distributed as dist

from course.core import insides

_C = insides.inside(torch, "_C")
_FAKE = insides.module("torch._subclasses.fake_tensor")

FakeTensor = insides.inside(_FAKE, "FakeTensor")
FakeTensorMode = insides.inside(_FAKE, "FakeTensorMode")
in_kernel_invocation = insides.inside(_FAKE, "in_kernel_invocation_manager")
unset_fake_temporarily = insides.inside(_FAKE, "unset_fake_temporarily")
DynamicOutputShapeException = insides.inside(_FAKE, "DynamicOutputShapeException")
FakeStore = insides.inside(
    insides.module("torch.testing._internal.distributed.fake_pg"), "FakeStore"
)
value_of = insides.inside(torch.ops.aten, "_local_scalar_dense")  # what `.item()` runs
parse_to = insides.inside(insides.inside(_C, "_nn"), "_parse_to")  # the arguments of `Tensor.to`
bucket_assignment = insides.inside(dist, "_compute_bucket_assignment_by_size")  # DDP's
_LISTS = insides.module("torch.utils._foreach_utils")
# The devices on which optimizers work on lists of tensors by default, and the types that may be in
# one: for optimizers, and for clipping.
list_devices = insides.inside(_LISTS, "_get_foreach_kernels_supported_devices")
LIST_TYPES = (
    insides.inside(insides.module("torch.optim.optimizer"), "_foreach_supported_types"),
    insides.inside(_LISTS, "_foreach_supported_types"),
)
# Where DTensor works out how the results of an operation are sharded.
SHARDING = insides.module("torch.distributed.tensor._sharding_prop")
without_dispatch = insides.inside(_C, "_DisableTorchDispatch")


def schema_of(function: Any) -> Any:
    """An operation's schema: its arguments and results, and which of them share memory."""
    return insides.inside(function, "_schema")


def storage_of(tensor: torch.Tensor) -> int:
    """The address of a tensor's storage, which views of one tensor share."""
    return insides.inside(tensor.untyped_storage(), "_cdata")
