"""What the checks of my_gradients do on each rank: gradients that are known, put on a mesh."""

import importlib
import os

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from course.given import gpt
from course.pretended import pretend_gpus

Mesh = tuple[int, int, int]
AXES = ("data", "pipeline", "tensor")
TABLE_OF_THE_LAST = "table of the last stage"


def drawn(replica: int) -> dict[str, Tensor]:
    """The gradients of the whole model in one replica; of the table, a part for each of its ends.

    They differ in size, so that a parameter that is counted twice shows in the norm.
    """
    alone, _ = dist.new_subgroups(group_size=1)
    generator = torch.Generator().manual_seed(replica)
    whole = gpt.Stage("tiny", 0, 1, alone).state_dict()
    whole[TABLE_OF_THE_LAST] = whole["table"]
    return {
        name: torch.randn(tensor.shape, generator=generator) * (9 / tensor.numel()) ** 0.5
        for name, tensor in whole.items()
    }


def together(replicas: int) -> dict[str, Tensor]:
    """The gradients of one process: the average over replicas, the sum over both ends."""
    by_replica = [drawn(replica) for replica in range(replicas)]
    mean = {
        name: sum(gradients[name] for gradients in by_replica) / replicas for name in by_replica[0]
    }
    mean["table"] = mean["table"] + mean.pop(TABLE_OF_THE_LAST)
    return mean


def placed(mesh: DeviceMesh, whole: dict[str, Tensor]) -> gpt.Stage:
    """This rank's stage, whose gradients are its shares of those of the whole model."""
    pipeline, tensor = mesh["pipeline"], mesh.get_group("tensor")
    stage = gpt.Stage("tiny", pipeline.get_local_rank(), pipeline.size(), tensor)
    share = stage.share_of(whole)
    for name, parameter in stage.to(mesh.device_type).named_parameters():
        parameter.grad = share[name].clone().to(mesh.device_type)
    return stage


def combined(shape: Mesh, forget_tied: bool = False) -> dict[str, float]:
    """By parameter of this rank: how far its gradient is from that of one process, at most.

    With `forget_tied`, `ends` is this rank alone, and the gradients should stay what they are.
    """
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=AXES)
    mine = drawn(mesh.get_local_rank("data"))
    other_table = mine.pop(TABLE_OF_THE_LAST)
    if mesh["pipeline"].size() == 1:
        mine["table"] = mine["table"] + other_table
    elif mesh.get_local_rank("pipeline") > 0:
        mine["table"] = other_table
    stage = placed(mesh, mine)
    ends = dist.new_subgroups(group_size=1)[0] if forget_tied else ends_of(mesh, stage)
    importlib.import_module("my_gradients").combine(stage, ends, mesh.get_group("data"))
    expected = stage.share_of(mine if forget_tied else together(shape[0]))
    return {
        name: float((parameter.grad - expected[name]).abs().max())
        for name, parameter in stage.named_parameters()
    }


def ends_of(mesh: DeviceMesh, stage: gpt.Stage) -> dist.ProcessGroup | None:
    """The first and the last stage of this rank's pipeline; None in between, and for one stage."""
    if mesh["pipeline"].size() == 1:
        return None
    pipelines = mesh.mesh.transpose(1, 2).flatten(0, 1).tolist()  # ranks by stage
    ends, _ = dist.new_subgroups_by_enumeration([[ranks[0], ranks[-1]] for ranks in pipelines])
    return ends if stage.first or stage.last else None


def norm_on_gpus() -> tuple[float, float]:
    """The norm after `combine` on two stages, each on a pretended GPU, and the right one."""
    rank = int(os.environ["RANK"])
    pretend_gpus(2)
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    mesh = init_device_mesh("cuda", (1, 2, 1), mesh_dim_names=AXES)
    whole = drawn(0)
    last_table = whole.pop(TABLE_OF_THE_LAST)
    stage = placed(mesh, whole | {"table": last_table} if rank else whole)
    script = importlib.import_module("my_gradients")
    script.combine(stage, ends_of(mesh, stage), mesh.get_group("data"))
    got = script.global_norm(stage, mesh.get_group("tensor"), mesh.get_group("pipeline"))
    return float(got), norm_of(together(1))


def norms(shape: Mesh) -> tuple[float, float, list[str]]:
    """The norm that the script finds on this rank, that of one process, and which gradients the
    script has changed.
    """
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=AXES)
    whole = together(shape[0])
    stage = placed(mesh, whole)
    groups = mesh.get_group("tensor"), mesh.get_group("pipeline")
    before = {name: parameter.grad.clone() for name, parameter in stage.named_parameters()}
    got = importlib.import_module("my_gradients").global_norm(stage, *groups)
    after = {name: parameter.grad for name, parameter in stage.named_parameters()}
    changed = [name for name in before if not torch.equal(before[name], after[name])]
    return float(got), norm_of(whole), changed


def norm_of(gradients: dict[str, Tensor]) -> float:
    """The norm of all gradients together."""
    return float(torch.stack([gradient.norm() for gradient in gradients.values()]).norm())
