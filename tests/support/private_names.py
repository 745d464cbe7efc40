"""Private names of other projects that the course uses, and what happens if one is gone.

A name begins with an underscore, which says that the next release may drop it.
"""

import ast
import functools
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from course.core.files import ROOT
from course.lessons.lesson import lessons
from course.lessons.rules import runnable

LOOKUPS = (
    "inside", "module", "replace", "replace_if_there", "getattr", "hasattr", "_call_before"
)  # fmt: skip


class Without(Enum):
    """What happens if a new release no longer has the name."""

    REFUSED = "asked for first: one sentence, or `not judged on this torch`"
    SLOWER = "asked for first: all works, and takes longer"
    LESS = "asked for first: all works, and `why` or the report on a hang says less"
    DOCUMENTED = "promised by the project's documentation, for all its underscore"
    SHOWN = "a traceback in the lesson: what the lesson is about has no public name"


R, SLOWER, LESS = Without.REFUSED, Without.SLOWER, Without.LESS
DOC, SHOWN = Without.DOCUMENTED, Without.SHOWN
C10D = "torch.distributed.distributed_c10d"
ELASTIC = "torch.distributed.elastic"
HANDLER = f"{ELASTIC}.multiprocessing.subprocess_handler.SubprocessHandler"
GROUP = "torch.distributed.ProcessGroup"
LOADER = "torch.utils.data.dataloader"
FETCH = "torch.utils.data._utils.fetch"
FSDP = "torch.distributed.fsdp"
PARALLEL = "torch.nn.parallel"
DDP = f"{PARALLEL}.DistributedDataParallel"

# name: (where it is, what happens without it, what it is for or why nothing public replaces it)
CODE = {
    # launch
    "_popen": (HANDLER, R, "torch has no other hook for who starts a rank"),
    "_stdout": ("", R, "where --redirects sends a rank's output; on an object of torch's"),
    "_stderr": ("", R, "the same"),
    "_delay": (f"{ELASTIC}.rendezvous.dynamic_rendezvous", SLOWER, "0.15 s a launch"),
    "_registry": ("weakref.finalize", SLOWER, "a third of a launch's processor time"),
    "_shutdown": ("threading", SLOWER, "the end of a fork; no warm ranks without it"),
    "_run_exitfuncs": ("atexit", SLOWER, "the end of a fork; no warm ranks without it"),
    "_getframe": ("sys", DOC, "Python's library reference"),
    "_exit": ("os", DOC, "Python's library reference"),
    "_engine_run_backward": ("torch.autograd.graph", LESS, "what a rank's stack calls backward"),
    "_sync_buffers": (DDP, LESS, "when DDP sends its buffers"),
    # diagnostics/fit
    "_subclasses": ("torch", R, "tensors without memory"),
    "_internal": ("torch.testing", R, "a group of ranks that are not there"),
    "_local_scalar_dense": ("torch.ops.aten", R, "what Tensor.item runs"),
    "_compute_bucket_assignment_by_size": ("torch.distributed", R, "DDP's buckets"),
    "_verify_param_shape_across_processes": (
        f"{PARALLEL}.distributed",
        R,
        "asks ranks that are not there",
    ),
    "_broadcast_coalesced": ("torch.distributed", R, "how DDP sends weights and buffers"),
    "_register_comm_hook": ("torch.distributed", R, "what a hook of DDP gets"),
    "_register_builtin_comm_hook": ("torch.distributed", R, "the same"),
    "_DisableTorchDispatch": ("torch._C", R, "to read a value past a dispatch mode"),
    "_cdata": ("torch.UntypedStorage", R, "which memory a tensor has"),
    "_schema": ("torch.ops.aten.add.Tensor", R, "what an operation does to its arguments"),
    "_foreach_utils": ("torch.utils", R, "holds the next two"),
    "_get_foreach_kernels_supported_devices": (
        "torch.utils._foreach_utils",
        R,
        "where optimizers work on lists by default",
    ),
    "_foreach_supported_types": ("torch.optim.optimizer", R, "which tensors may be in one"),
    "_sharding_prop": ("torch.distributed.tensor", R, "how DTensor places the result of a list"),
    "_local_tensor": ("", LESS, "which part of a split tensor lies here; on an object of torch's"),
    # checks
    "_world": (C10D, R, "the process groups that there are"),
    "_object_to_tensor": (C10D, R, "the bytes of an object that travels"),
    "_python_dispatch": ("torch.utils", DOC, "TorchDispatchMode: torch's notes on extending it"),
    "_pytree": ("torch.utils", R, "the tensors in nested arguments"),
    "_growth_tracker": ("", DOC, "torch's reference, of GradScaler.state_dict"),
    # given
    "_resolve_process_group": (C10D, R, "the group that a functional collective names"),
    "_type": ("torch.ScriptObject", R, "whether an argument of an operation is a group"),
    "_dump_fr_trace": ("torch._C._distributed_c10d", R, "only NCCL's recorder has a public way"),
    "_distributed_c10d": ("torch._C", R, "holds the former"),
    "_C": ("torch", R, "holds the former"),
    "_replace": ("", DOC, "Python's library reference"),
    "_fields": ("", DOC, "the same, of a namedtuple"),
    # why
    "_BaseDataLoaderIter": (LOADER, R, "where a loader's batches come from"),
    "_next_index": (f"{LOADER}._BaseDataLoaderIter", LESS, "which part of the data a rank draws"),
    "_get_ddp_logging_data": (DDP, LESS, "when DDP's messages went, which C++ sends"),
    "_set_ddp_runtime_logging_sample_rate": (DDP, LESS, "that each pass is told"),
    "_get_fsdp_state": (f"{FSDP}.FSDPModule", LESS, "how a sharded model was made; holds the next"),
    "_mp_policy": ("", LESS, "whether it sends 16 bits"),
    # right
    "_IterableDatasetFetcher": (FETCH, LESS, "what a worker draws at random"),
    "_are_functorch_transforms_active": ("torch._C", LESS, "which calls torch.func makes"),
    "_orig_mod.": ("", LESS, "how torch.compile names what it wraps"),
    "_saved_ignore_index": ("", LESS, "how many targets a loss counts; on a node of a graph"),
    "_saved_reduction": ("", LESS, "the same: a mean or a sum"),
    "_saved_self": ("", LESS, "the same: how many terms"),
    "_saved_self_sym_numel": ("", LESS, "the same"),
    "_saved_self_sym_sizes": ("", LESS, "the same"),
    "_saved_target": ("", LESS, "the same"),
    "_saved_weight": ("", LESS, "the same: whether classes count unequally"),
    "_current_frames": ("sys", DOC, "Python's library reference"),
    # run
    "_rank_not_in_group": (C10D, LESS, "what each collective calls first"),
    "_tensor_or_tensors_to_tuple": ("torch.autograd", LESS, "what each backward pass calls first"),
    "_build_params_for_reducer": (DDP, LESS, "which module DDP wraps"),
    "_dump_fr_trace_json": ("torch._C._distributed_c10d", LESS, "which messages are not done"),
    "_current_exceptions": ("sys", DOC, "Python's library reference"),
    # pretended GPUs: none of torch's own parts has a public place for another device
    "_device": ("torch.utils", R, "holds the next"),
    "_device_constructors": ("torch.utils._device", R, "the functions that make tensors"),
    "_nn": ("torch._C", R, "holds the next"),
    "_parse_to": ("torch._C._nn", R, "the arguments of Tensor.to"),
    "_get_accelerator": ("torch._C", R, "which device a box has"),
    "_utils": ("torch.cuda", R, "holds the next"),
    "_get_device_index": ("torch.cuda._utils", R, "what counts as a device of CUDA"),
    "_lazy_init": ("torch.cuda", R, "that CUDA begins at the first use"),
    "_NCCL_AVAILABLE": (C10D, R, "that torch was built with NCCL"),
    "_new_process_group_helper": (C10D, R, "what makes a group"),
    "_get_split_source": (C10D, R, "that Gloo cannot split a group"),
    "_get_object_coll_device": (C10D, R, "through which device objects travel"),
    "_get_backend": (GROUP, R, "what carries a group's messages"),
    "_register_backend": (GROUP, R, "the same, for another device"),
    "_timeout": ("", R, "torch puts it on the options that it gives to a backend"),
}
LESSONS = {
    "_exit": ("os", DOC, "Python's library reference"),
    "_dynamo": ("torch", DOC, "torch's notes on DDP name torch._dynamo.config.optimize_ddp"),
    "_replicate_for_data_parallel": ("torch.nn.Module", SHOWN, "what DataParallel is made of"),
    "_former_parameters": ("", SHOWN, "the same: where replicas keep the weights"),
    "_modules": ("", SHOWN, "the same"),
    "_buffers": ("", SHOWN, "the same"),
    "_parameters": ("", SHOWN, "the same"),
    "_subclasses": ("torch", SHOWN, "tensors without memory, for a model of billions"),
    "_internal": ("torch.testing", SHOWN, "a group of 64 ranks that is not there"),
}


def is_private(name: str) -> bool:
    """Whether a name is private by Python's custom."""
    return name.startswith("_") and not name.startswith("__") and name != "_"


@functools.cache
def modules() -> dict[Path, ast.Module]:
    """The syntax tree of each file of the course."""
    return {path: ast.parse(path.read_text()) for path in sorted((ROOT / "course").rglob("*.py"))}


@functools.cache
def scripts() -> dict[Path, ast.Module]:
    """The syntax tree of all code of each lesson."""
    return {
        lesson.path: ast.parse("\n".join(runnable(cell.source) for cell in lesson.code))
        for lesson in lessons(ROOT)
    }


def defined_names(trees: Iterable[ast.Module]) -> set[str]:
    """The names that this code itself defines: functions, classes, variables, attributes."""
    names = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
    return names


def used_names(tree: ast.Module) -> set[str]:
    """The private names that code relies on: if one is gone, the code fails with a traceback."""
    parts = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name):
                parts.add(name)
            case ast.Import(names=names):
                parts |= {part for alias in names for part in alias.name.split(".")}
            case ast.ImportFrom(module=module, names=names):
                parts |= {*(module or "").split("."), *(alias.name for alias in names)}
    return set(filter(is_private, parts))


def looked_up_names(tree: ast.Module) -> set[str]:
    """The private names that code looks up safely: as a string, or as a keyword of `replace`.

    A string counts in a tuple after its home or alone, in a comparison, and as a key.
    """
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in LOOKUPS:
                constants = [
                    constant.value for constant in node.args if isinstance(constant, ast.Constant)
                ]
                names |= {part for text in constants for part in str(text).split(".")}
                names |= {keyword.arg for keyword in node.keywords if keyword.arg}
            case ast.Tuple(elts=[*home, name]) if len(home) < 2:
                names |= _texts([name])
            case ast.Compare(comparators=operands):
                names |= _texts(operands)
            case ast.Subscript(slice=key):
                names |= _texts([key])
    return set(filter(is_private, names))


def _texts(nodes: Iterable[ast.expr]) -> set[str]:
    return {node.value for node in nodes if isinstance(getattr(node, "value", None), str)}
