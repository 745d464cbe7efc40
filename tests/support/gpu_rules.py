"""Rules that a script must keep to be right on GPUs, checked on its syntax tree.

A rule is a function that yields the place of each fault and one sentence on what to do about it.
If the tree leaves a doubt, the rule is silent, so every fault that it reports is real.
"""

import ast
from collections.abc import Callable, Iterator

from support.programs import File, Program, enclosing, last_name, names_in

THE_TEST = 'torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])'
SETS_DEVICE = ("set_device", "set_device_index")
STATISTICS = (
    "reset_peak_memory_stats", "reset_accumulated_memory_stats", "memory_stats",
    "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
)  # fmt: skip
MAKERS = (
    "tensor", "as_tensor", "zeros", "ones", "full", "empty", "rand", "randn", "randint", "arange",
)  # fmt: skip
MESSAGES = ("send", "recv", "isend", "irecv")
COLLECTIVES = (
    "all_reduce", "broadcast", "reduce", "all_gather", "gather", "scatter", "reduce_scatter",
    "all_to_all", "all_to_all_single", "all_gather_into_tensor", "reduce_scatter_tensor", *MESSAGES,
)  # fmt: skip
WORK = ("backward", "step", "matmul", "mm", "bmm", *COLLECTIVES)  # gives a GPU work to do later
WAITS = ("synchronize", "item", "tolist", "cpu", "numpy", "barrier", "log")  # waits for that work
CLOCKS = ("time.perf_counter", "time.monotonic", "time.time")

Faults = Iterator[tuple[File, ast.AST, str]]
Rule = Callable[[Program], Faults]


def faults(program: Program) -> list[str]:
    """The faults of a program, each as ``ddp.py:12: what to do``, sorted."""
    found = [(file.name, node.lineno, cure) for rule in RULES for file, node, cure in rule(program)]
    return [f"{name}:{line}: {cure}" for name, line, cure in sorted(set(found))]


def joins_with_its_gpu(program: Program) -> Faults:
    """NCCL learns the GPU of a rank from `device_id`, everything else from `set_device`."""
    first = "before `init_process_group`, or every rank works on GPU 0"
    bound = "or `barrier()` warns, and NCCL connects only at its first use"
    for file, call in program.calls("init_process_group"):
        if not any("nccl" in file.meaning(argument) for argument in _arguments(call)):
            continue
        if not any(call.lineno > other.lineno for other in file.calls(*SETS_DEVICE)):
            yield file, call, f"call `torch.cuda.set_device(device)` {first}."
        if "device_id" not in {keyword.arg for keyword in call.keywords}:
            yield file, call, f"give `init_process_group` the GPU as `device_id`, {bound}."


def asks_for_a_gpu_per_rank(program: Program) -> Faults:
    """The backend and the device follow from one test: is there a GPU for every local rank?"""
    if not program.launched:
        return
    for file in program.files:
        for name in file.nccl:
            outer = (node for node in enclosing(name) if isinstance(node, (ast.If, ast.IfExp)))
            test = next((node.test for node in outer), None)
            if test is None or "LOCAL_WORLD_SIZE" not in file.meaning(test):
                yield file, name, f"choose NCCL by the one test, `{THE_TEST}`."
    why = "where ranks outnumber GPUs, `is_available()` sends some to a GPU that is not there"
    for file, call in program.calls("is_available"):
        is_of_torch = ast.unparse(call.func.value) in ("torch.cuda", "torch.accelerator")
        if is_of_torch and not _is_the_default_of_an_option(call):
            yield file, call, f"choose the device of ranks by `{THE_TEST}`: {why}."


def reads_statistics_of_a_cuda_that_runs(program: Program) -> Faults:
    """`reset_peak_memory_stats` raises before CUDA is initialized; the others return 0."""
    for file, call in program.calls(*STATISTICS):
        starts = [start for start in file.calls("init", *SETS_DEVICE) if start.lineno < call.lineno]
        is_started = any("torch." in ast.unparse(start.func) for start in starts)
        if "torch.cuda" in ast.unparse(call.func) and not is_started:
            yield file, call, "call `torch.cuda.init()` before: CUDA is not initialized here."


def waits_before_it_reads_the_clock(program: Program) -> Faults:
    """A GPU finishes its work some time after it was given."""
    why = "the GPU may not have done yet what it was given"
    for file in program.files:
        if "cuda" not in file.text and not program.may_use_nccl:
            continue
        for node in file.nodes:
            is_difference = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
            if is_difference and _is_clock(node.left):
                kinds = (_effect(file, call) for call in _calls_before(node))
                if next(filter(None, kinds), "waits") == "work":
                    yield file, node, f"synchronize before this reading of the clock: {why}."


def waits_for_its_own_gpu(program: Program) -> Faults:
    """`synchronize()` without an argument waits for the current GPU, which is 0 by default."""
    for_ranks = program.launched or (program.may_use_nccl and not program.library)
    if not for_ranks or any(program.calls(*SETS_DEVICE)):
        return
    why = "without it `synchronize()` waits for GPU 0, whatever the rank"
    for file, call in program.calls("synchronize"):
        if ast.unparse(call) == "torch.cuda.synchronize()":
            yield file, call, f"call `torch.cuda.set_device(device)` before: {why}."


def sends_what_lies_on_its_gpu(program: Program) -> Faults:
    """NCCL takes no tensors on the CPU."""
    if not program.may_use_nccl:
        return
    for file, call in program.calls(*COLLECTIVES):
        if not _is_of_distributed(call) or _goes_over_gloo(file, call):
            continue
        why = f"`{last_name(call.func)}` gets it, and NCCL refuses tensors of the CPU"
        for argument in _arguments(call):
            for made in _made_on_the_cpu(call, argument):
                yield file, made, f"make this tensor with `device=...`: {why}."


def batches_its_messages(program: Program) -> Faults:
    """With `device_id`, NCCL serializes a single message with everything else, and warns."""
    if not program.may_use_nccl:
        return
    for file, call in program.calls(*MESSAGES):
        if _is_of_distributed(call) and not _goes_over_gloo(file, call):
            alone = f"NCCL warns of a `{last_name(call.func)}` on its own"
            yield file, call, f"send and receive with `dist.batch_isend_irecv`: {alone}."


def shards_on_a_mesh(program: Program) -> Faults:
    """Without a mesh `fully_shard` takes the GPU of each rank, whatever its group is."""
    for file, call in program.calls("fully_shard"):
        if "mesh" not in {keyword.arg for keyword in call.keywords}:
            yield file, call, "give `fully_shard` its `mesh`, or it takes the GPUs under Gloo too."


def decides_alike_on_all_ranks(program: Program) -> Faults:
    """All ranks must make a choice that depends on the GPU alike, by the oldest GPU."""
    if not program.launched:
        return
    why = "ranks on unlike GPUs decide differently, and wait for one another"
    for file, call in program.calls("get_device_capability", "is_bf16_supported"):
        yield file, call, f"ask `course.given.gpus.capability()`: {why}."


RULES: tuple[Rule, ...] = (
    joins_with_its_gpu,
    asks_for_a_gpu_per_rank,
    reads_statistics_of_a_cuda_that_runs,
    waits_before_it_reads_the_clock,
    waits_for_its_own_gpu,
    sends_what_lies_on_its_gpu,
    batches_its_messages,
    shards_on_a_mesh,
    decides_alike_on_all_ranks,
)


# -- what the rules look at ------------------------------------------------------------------------


def _arguments(call: ast.Call) -> list[ast.AST]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_the_default_of_an_option(call: ast.Call) -> bool:
    """Whether a call is the default of a command line option, which may never be used."""
    outer = (node for node in enclosing(call) if isinstance(node, ast.Call))
    return any(last_name(node.func) == "add_argument" for node in outer)


def _is_of_distributed(call: ast.Call) -> bool:
    module = getattr(call.func, "value", None)
    return module is not None and ast.unparse(module) in ("dist", "torch.distributed")


def _goes_over_gloo(file: File, call: ast.Call) -> bool:
    """Whether a call names a group that the script makes with Gloo."""
    values = [value for name in names_in(call) for value in file.assigned.get(name, [])]
    return any("new_group" in (code := ast.unparse(made)) and "gloo" in code for made in values)


def _made_on_the_cpu(call: ast.Call, argument: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls without a device that make this argument, here or earlier in the function."""
    values = [argument]
    for name in names_in(argument):
        earlier = [
            node
            for node in ast.walk(_function_around(call))
            if isinstance(node, ast.Assign)
            and node.lineno < call.lineno
            and name in {target.id for target in node.targets if isinstance(target, ast.Name)}
        ]
        if earlier:
            values.append(max(earlier, key=lambda node: node.lineno).value)
    for value in values:  # one tensor, or a list of them
        for made in (value, getattr(value, "elt", None), *getattr(value, "elts", [])):
            if isinstance(made, ast.Call) and ast.unparse(made.func).startswith("torch."):
                on_cpu = "device" not in {keyword.arg for keyword in made.keywords}
                if last_name(made.func) in MAKERS and on_cpu:
                    yield made


def _function_around(node: ast.AST) -> ast.AST:
    """The function that contains a node, or the module."""
    kinds = (ast.FunctionDef, ast.Lambda, ast.Module)
    return next(outer for outer in enclosing(node.parent) if isinstance(outer, kinds))


def _is_clock(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in CLOCKS


def _calls_before(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that run before a node in its function, the last one first."""
    for inner in enclosing(node):
        if isinstance(inner, (ast.FunctionDef, ast.Lambda, ast.Module)):
            return
        for block in ("body", "orelse", "finalbody"):
            statements = getattr(inner.parent, block, [])
            if isinstance(statements, list) and inner in statements:
                for earlier in reversed(statements[: statements.index(inner)]):
                    if not isinstance(earlier, (ast.FunctionDef, ast.ClassDef)):
                        calls = [n for n in ast.walk(earlier) if isinstance(n, ast.Call)]
                        yield from sorted(calls, key=lambda n: (-n.lineno, -n.col_offset))


def _effect(file: File, call: ast.Call, depth: int = 2) -> str:
    """Classify a call: "work" for the GPU, "waits" for that work, or "" if neither is certain.

    A call of one of the script's functions is classified by its body: it waits if any part waits.
    """
    name = last_name(call.func)
    defined = [n for n in file.nodes if isinstance(n, ast.FunctionDef) and n.name == name]
    if defined and depth:
        inner = [node for node in ast.walk(defined[0]) if isinstance(node, ast.Call)]
        kinds = {_effect(file, node, depth - 1) for node in inner}
        return next((kind for kind in ("waits", "work") if kind in kinds), "")
    if name in WAITS or _is_clock(call):
        return "waits"
    return "work" if name in WORK else ""
