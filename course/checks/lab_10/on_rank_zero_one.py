"""What the checks of zero_one do on each rank."""

import importlib
import os
from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from course.checks.lab_10.on_rank_sharding import my_batch, seeded, whole_batch
from course.checks.tools.recorder import recorded
from course.checks.tools.reference import Small, batch, furthest, loss_of, train_alone, weights
from course.core import interceptor
from course.given.sent import Traffic
from course.pretended import pretend_gpus

CLASSES = {
    "SGD": (torch.optim.SGD, {"lr": 0.1}),
    "SGD with momentum": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9}),
    "AdamW": (torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
}


def sharded(parameters: Iterable, optimizer: str):
    """The learner's optimizer, made of a class of torch's."""
    kind, options = CLASSES[optimizer]
    return importlib.import_module("zero_one").ShardedOptimizer(parameters, kind, **options)


def train(cases: list[tuple[str, str]]) -> dict:
    """By kind of model and optimizer: this rank's weights after three steps."""
    trained = {}
    for kind, optimizer in cases:
        model = DistributedDataParallel(Small(seed=dist.get_rank(), kind=kind))
        _steps(model, sharded(model.parameters(), optimizer))
        trained[kind, optimizer] = weights(model.module)
    return trained


def _steps(model: nn.Module, updates, count: int = 3) -> None:
    for step in range(count):
        updates.zero_grad()
        loss_of(model, batch(step, dist.get_rank())).backward()
        updates.step()


def _in_groups(model: Small) -> list[dict]:
    layers, heads = list(model.layers.parameters()), list(model.heads.parameters())
    return [{"params": layers, "weight_decay": 0.0}, {"params": heads, "lr": 0.05}]


def _steps_alone(model: nn.Module, updates: torch.optim.Optimizer, count: int) -> None:
    """Train in this process on the batches of all ranks together."""
    for step in range(count):
        updates.zero_grad()
        parts = [batch(step, rank) for rank in range(dist.get_world_size())]
        loss_of(model, tuple(map(torch.cat, zip(*parts, strict=True)))).backward()
        updates.step()


def groups() -> float:
    """How far this rank's weights are from one process's, with two groups of parameters."""
    model = DistributedDataParallel(Small(seed=0))
    _steps(model, sharded(_in_groups(model.module), "AdamW"))
    alone = Small(seed=0)
    kind, options = CLASSES["AdamW"]
    updates = kind(_in_groups(alone), **options)
    _steps_alone(alone, updates, count=3)
    return furthest(weights(model.module), weights(alone))


def state() -> tuple[int, int, int]:
    """Numbers of AdamW's moments here, of the parameters owned here, and of all that is trained."""
    model = DistributedDataParallel(Small(seed=0))
    updates = sharded(model.parameters(), "AdamW")
    _steps(model, updates, count=1)
    entries = updates.local.state.values() if updates.local is not None else []
    elements = sum(t.numel() for entry in entries for t in entry.values() if t.dim())
    mine = [p for p in updates.parameters if updates.owner[p] == dist.get_rank()]
    return elements, sum(p.numel() for p in mine), sum(p.numel() for p in updates.parameters)


def shares(sizes: list[int]) -> list[int]:
    """The owner of each parameter of these sizes."""
    parameters = [nn.Parameter(seeded(size, size)) for size in sizes]
    updates = sharded(parameters, "SGD")
    return [updates.owner[parameter] for parameter in parameters]


def saved_before_a_step() -> list[int]:
    """The places of the parameters in a state that is saved, and loaded again, before any step."""
    updates = sharded([nn.Parameter(seeded(size, size)) for size in (3, 2, 1)], "AdamW")
    saved = updates.state_dict()
    updates.load_state_dict(saved)
    return sorted(saved)


def saved_on_gpus() -> list[str]:
    """The tensors that are saved from another place than the CPU; the ranks have pretended GPUs.

    They are looked at as they are sent: pickling forgets where a pretended tensor was.
    """
    pretend_gpus(2)
    sent = []

    def note(_: str, real: Callable, args: tuple, kwargs: dict) -> object:
        sent.append(args[1])
        return real(*args, **kwargs)

    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    device = torch.device("cuda", rank)
    parameters = [nn.Parameter(seeded(size, size).to(device)) for size in (3, 2, 1)]
    updates = sharded(parameters, "AdamW")
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    if updates.local is not None:
        updates.local.step()
    with interceptor.intercepted(note, ["all_gather_object"]):
        updates.state_dict()
    return [
        f"{key} of parameter {place} on {value.device}"
        for entries in sent
        for place, entry in entries.items()
        for key, value in entry.items()
        if value.device.type != "cpu"
    ]


def talks() -> list[str]:
    """What `share_out` sends."""
    updates = sharded([nn.Parameter(seeded(size, size)) for size in (3, 2, 1)], "SGD")
    with recorded() as calls:
        updates.share_out()
    return [call.name for call in calls]


def in_other_dtypes() -> tuple[float, list[str], list[str]]:
    """What AdamW makes of parameters in float64, bf16 and float32.

    How far they and the state are from those of torch's own optimizer; the dtypes of the saved
    moments, and those that they should have.
    """
    dtypes = (torch.float64, torch.bfloat16, torch.float32)
    kind, options = CLASSES["AdamW"]

    def parameters() -> list[nn.Parameter]:
        made = [nn.Parameter(seeded(i, 5).to(dtype)) for i, dtype in enumerate(dtypes)]
        for i, parameter in enumerate(made):
            parameter.grad = seeded(10 + i, 5).to(parameter.dtype)
        return made

    here, alone = parameters(), parameters()
    updates, reference = sharded(here, "AdamW"), kind(alone, **options)
    updates.step()
    reference.step()
    moments = [updates.state_dict()[place]["exp_avg"] for place in range(len(dtypes))]
    average = [reference.state[parameter]["exp_avg"] for parameter in alone]
    got, expected = (
        [tensor.detach().double() for tensor in tensors]
        for tensors in ([*here, *moments], [*alone, *average])
    )
    return furthest(got, expected), [str(m.dtype) for m in moments], [str(m.dtype) for m in average]


def resume(first: int, last: int, saved: dict | None = None, optimizer: str = "AdamW") -> dict:
    """Steps from `first` to `last` in two groups, begun with what was saved; what is saved then."""
    model = DistributedDataParallel(Small(seed=0, kind="frozen"))
    updates = sharded(_in_groups(model.module), optimizer)
    if saved is not None:
        model.module.load_state_dict(saved["model"])
        updates.load_state_dict(saved["optimizer"])
    for step in range(first, last):
        updates.zero_grad()
        loss_of(model, my_batch(step)).backward()
        updates.step()
    return {"model": model.module.state_dict(), "optimizer": updates.state_dict()}


def resume_alone(
    steps: int, optimizer: str = "AdamW"
) -> tuple[dict[str, Tensor], dict[int, dict[str, Tensor]]]:
    """One process: its weights by name, and the optimizer state of each trained parameter."""
    model = Small(seed=0, kind="frozen")
    kind, options = CLASSES[optimizer]
    groups = [
        {**group, "params": [p for p in group["params"] if p.requires_grad]}
        for group in _in_groups(model)
    ]
    updates = kind(groups, **options)
    for step in range(steps):
        updates.zero_grad()
        loss_of(model, whole_batch(step)).backward()
        updates.step()
    trained = [parameter for group in groups for parameter in group["params"]]
    state = {place: updates.state[parameter] for place, parameter in enumerate(trained)}
    return dict(model.state_dict()), state


def few() -> tuple[float, list[int], bool]:
    """How far the weights of a model of three parameters are from those of one process.

    Also the places of the parameters whose state is saved, and whether this rank owns nothing and
    has an optimizer all the same.
    """

    def model() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(6, 1), nn.Linear(1, 1, bias=False))

    here, alone = DistributedDataParallel(model()), model()
    kind, options = CLASSES["SGD with momentum"]
    updates = sharded(here.parameters(), "SGD with momentum")
    _steps(here, updates, count=2)
    _steps_alone(alone, kind(alone.parameters(), **options), count=2)
    owns = dist.get_rank() in updates.owner.values()
    needless = not owns and updates.local is not None
    return furthest(weights(here.module), weights(alone)), sorted(updates.state_dict()), needless


def traffic() -> tuple[int, int]:
    """The bytes that step() sends in units of a tensor sent once, and the most that it may send.

    That is the parameters once, with every rank's share padded to the largest.
    """
    model = Small(seed=0)
    updates = sharded(model.parameters(), "AdamW")
    loss_of(model, batch(0, 0)).backward()
    with Traffic() as seen:
        updates.step()
    shares = [0] * dist.get_world_size()
    for parameter in updates.parameters:
        shares[updates.owner[parameter]] += parameter.nbytes
    return seen.units, max(shares) * len(shares)


def without_library() -> float:
    """How far training is from one process's, with torch's own sharded optimizer unusable."""
    from torch.distributed.optim import ZeroRedundancyOptimizer  # only here: it is slow to import

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError(
            "it hands the work to torch's ZeroRedundancyOptimizer, which is what it should replace"
        )

    ZeroRedundancyOptimizer.__init__ = refuse
    (got,) = train([("plain", "SGD")]).values()
    return furthest(got, train_alone("plain", "SGD", 3, dist.get_world_size()))
