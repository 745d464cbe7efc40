"""What the course says about torch's sharding, checkpoints and tensor parallelism."""

import inspect
import warnings
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from support.says import says
from torch import nn
from torch.distributed import checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
)
from torch.distributed.tensor import DeviceMesh, DTensor, Replicate, Shard, init_device_mesh
from torch.distributed.tensor.debug import CommDebugMode
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode

pytestmark = pytest.mark.usefixtures("group_of_one", "one_thread")


def sharded(**options: object) -> tuple[nn.Sequential, list[nn.Parameter]]:
    """A model of two sharded layers, and its parameters from before it was sharded."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    before = list(model.parameters())
    mesh = init_device_mesh("cpu", (1,))
    for layer in model:
        fully_shard(layer, mesh=mesh, **options)
    return fully_shard(model, mesh=mesh), before


def test_sharding_replaces_the_parameters():
    says("10b_fsdp", "replaces the parameters")
    model, before = sharded()
    assert {id(p) for p in model.parameters()}.isdisjoint(map(id, before))


def test_a_parameter_is_cut_along_its_first_dimension():
    says("10c_copies_of_shards", "first dimension")
    says("glossary", "DTensors")
    model, _ = sharded()
    assert all(isinstance(p, DTensor) for p in model.parameters())
    assert {p.placements for p in model.parameters()} == {(Shard(0),)}


def test_a_mesh_replicates_over_its_first_dimension_whatever_its_name():
    says("10c_copies_of_shards", "replicates over the first of two dimensions")
    mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("shard", "replicate"))
    layer = fully_shard(nn.Linear(4, 4), mesh=mesh)
    assert {p.placements for p in layer.parameters()} == {(Replicate(), Shard(0))}


def test_without_a_mesh_torch_takes_the_accelerator(monkeypatch):
    meshes = []

    def note(device: str, *args: object, **kwargs: object) -> None:
        meshes.append(device)
        raise RuntimeError("enough seen")

    from torch.distributed.fsdp._fully_shard import _fsdp_init

    monkeypatch.setattr(_fsdp_init, "init_device_mesh", note)
    monkeypatch.setattr(torch._C, "_get_accelerator", lambda *_: torch.device("cuda"))
    with pytest.raises(RuntimeError, match="enough seen"):
        fully_shard(nn.Linear(1, 1))
    assert meshes == ["cuda"] and dist.get_backend() == "gloo"


def test_the_outermost_module_stays_whole_until_its_backward():
    says("10b_fsdp", "outermost module")
    model, _ = sharded()
    model(torch.ones(1, 4))
    assert all(isinstance(p, DTensor) for p in model[0].parameters())
    outermost = fully_shard(nn.Linear(4, 4), mesh=init_device_mesh("cpu", (1,)))
    outermost(torch.ones(1, 4))
    assert not any(isinstance(p, DTensor) for p in outermost.parameters())


def test_the_switches_of_fully_shard():
    says(
        "10b_fsdp",
        "`model.set_requires_gradient_sync(False)`",
        "`layer.set_modules_to_forward_prefetch([...])`",
        "`reshard_after_forward=False`",
    )
    assert hasattr(FSDPModule, "set_requires_gradient_sync")
    assert hasattr(FSDPModule, "set_modules_to_forward_prefetch")
    model, _ = sharded(reshard_after_forward=False)
    model(torch.ones(1, 4))
    assert not any(isinstance(p, DTensor) for p in model[0].parameters())


def test_the_policy_computes_and_adds_up():
    says("10b_fsdp", "`param_dtype`", "`reduce_dtype`")
    says("05_mixed_precision", "`MixedPrecisionPolicy(param_dtype=...)`")
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model, _ = sharded(mp_policy=policy)
    seen = []
    model[0].register_forward_hook(lambda layer, inputs, output: seen.append(output.dtype))
    model(torch.ones(1, 4)).sum().backward()
    assert seen == [torch.bfloat16]
    assert {p.grad.dtype for p in model[0].parameters()} == {torch.float32}


def test_what_adds_up_where_the_policy_does_not_say_it():
    says("10b_fsdp", "torch 2.15")
    pretend_ranks(2)
    model = nn.Linear(4, 4)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)), mp_policy=policy)
    with Reduced() as reduced:
        model(torch.ones(1, 4)).sum().backward()
    assert reduced.dtypes == [torch.float32 if torch.__version__ >= (2, 15) else torch.bfloat16]


class Reduced(TorchDispatchMode):
    """Records the dtypes in which gradients are added up over the ranks; counts all-reduces."""

    def __init__(self) -> None:
        super().__init__()
        self.dtypes: list[torch.dtype] = []
        self.averages = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation.name() == "c10d::_reduce_scatter_base_":
            self.dtypes.append(args[1].dtype)
        self.averages += operation.name() == "c10d::allreduce_"
        return operation(*args, **(kwargs or {}))


def pretend_ranks(world_size: int, rank: int = 0) -> None:
    """Replace the group of one rank by a larger one, in which only this rank is real."""
    dist.destroy_process_group()
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world_size)


def test_gradients_that_wait_are_in_the_dtype_that_adds_up():
    says("10b_fsdp", "`reduce_dtype`")
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model, _ = sharded(mp_policy=policy)
    model.set_requires_gradient_sync(False)
    for _ in range(2):  # torch converts the first pass's gradients only in the second pass
        model(torch.ones(1, 4)).sum().backward()
    group = model[0]._get_fsdp_state()._fsdp_param_group
    waiting = {param.unsharded_accumulated_grad.dtype for param in group.fsdp_params}
    assert waiting == {torch.float32}


def test_torchs_own_norm_knows_that_gradients_are_sharded():
    says("10b_fsdp", "`clip_grad_norm_`")
    model, _ = sharded()
    model(torch.ones(1, 4)).sum().backward()
    assert isinstance(nn.utils.clip_grad_norm_(model.parameters(), 1.0), DTensor)


def test_states_go_by_the_names_of_the_parameters():
    says("10c_copies_of_shards", "get_state_dict")
    model, _ = sharded()
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
    weights, moments = get_state_dict(model, optimizer)
    assert set(weights) == set(moments["state"]) == {"0.weight", "0.bias", "1.weight", "1.bias"}


def test_what_a_distributed_checkpoint_writes(tmp_path: Path):
    says("10c_copies_of_shards", "a file per rank", "`.metadata`")
    dcp.save({"x": torch.ones(2)}, checkpoint_id=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".metadata", "__0_0.distcp"}
    written = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert max(written, key=written.get) == ".metadata"


def test_an_asynchronous_save_takes_a_group_of_its_own():
    says("10c_copies_of_shards", '`process_group=dist.new_group(backend="gloo")`')
    assert "process_group" in inspect.signature(dcp.async_save).parameters


def test_a_model_without_memory():
    says("10c_copies_of_shards", "`model.to_empty(device=...)`")
    with torch.device("meta"):
        model = nn.Linear(4, 4)
    fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
    assert model.weight.device.type == "meta"
    model.to_empty(device="cpu")
    assert isinstance(model.weight, DTensor) and model.weight.device.type == "cpu"


def test_a_storage_gives_its_memory_back():
    says("10b_fsdp", "`untyped_storage().resize_(0)`")
    tensor = torch.ones(3)
    tensor.untyped_storage().resize_(0)
    assert tensor.shape == (3,) and tensor.untyped_storage().nbytes() == 0
    from torch.distributed.fsdp._fully_shard import _fsdp_param

    assert "resize_(0)" in inspect.getsource(_fsdp_param)


def test_torch_refuses_an_empty_optimizer():
    says("hints", "return `None`")
    with pytest.raises(ValueError, match="empty parameter list"):
        torch.optim.SGD([])


def test_an_optimizer_of_whole_matrices():
    says("10_sharding", "Muon")
    with pytest.raises(ValueError, match="2D"):
        torch.optim.Muon([nn.Parameter(torch.ones(4))])


def test_adamw_counts_its_steps_on_the_cpu():
    says("10_sharding", "count of steps")
    weight = nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    optimizer = torch.optim.AdamW([weight])
    optimizer.step()
    state = optimizer.state[weight]
    assert {name: tensor.dim() for name, tensor in state.items()} == {
        "step": 0,
        "exp_avg": 1,
        "exp_avg_sq": 1,
    }
    assert state["step"].device.type == "cpu"


@pytest.fixture
def half_of_a_pretended_world() -> DeviceMesh:
    """A mesh of two ranks, seen from rank 0, the only one that exists."""
    dist.destroy_process_group()
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    return init_device_mesh("cpu", (2,))


def test_a_forward_of_a_sharded_layer_gathers(half_of_a_pretended_world):
    says("07b_six_ways", "gathers its weights")
    model = nn.Sequential(fully_shard(nn.Linear(4, 4), mesh=half_of_a_pretended_world))
    fully_shard(model, mesh=half_of_a_pretended_world)
    for _ in range(3):
        with torch.no_grad(), CommDebugMode() as counted:
            model(torch.ones(1, 4))
        assert counted.get_total_counts() == 1


def test_how_a_linear_layer_keeps_its_weight():
    says("11_splitting", "(outputs, inputs)")
    assert nn.Linear(3, 5).weight.shape == (5, 3)


def test_the_two_new_names_come_with_a_warning_of_the_old_ones():
    says("10_sharding", "torch 2.13", "2.14", "2.15")
    warned = pytest.warns(FutureWarning, match="all_gather_into_tensor` is deprecated")
    quiet = warnings.catch_warnings(action="error")
    with warned if (2, 13) <= torch.__version__ < (2, 15) else quiet:
        dist.all_gather_into_tensor(torch.ones(1), torch.ones(1))


def test_a_pretended_group_has_any_number_of_ranks():
    says("11c_three_ways", "*fake*")
    pretend_ranks(64, rank=3)
    dist.all_reduce(torch.ones(1))
    assert (dist.get_rank(), dist.get_world_size()) == (3, 64)


def test_an_optimizer_without_a_state_takes_a_step_for_its_state_dict():
    says("10c_copies_of_shards", "an empty state")
    model = nn.Linear(2, 2)
    before, optimizer = model.weight.clone(), torch.optim.AdamW(model.parameters())
    get_state_dict(model, optimizer)
    assert {state["step"].item() for state in optimizer.state.values()} == {1}
    assert torch.equal(model.weight, before)


def test_a_shard_that_is_offloaded_lies_on_the_cpu():
    says("10c_copies_of_shards", "`offload_policy=CPUOffloadPolicy()`", "*pinned*")
    assert CPUOffloadPolicy().pin_memory
    with pytest.raises(RuntimeError, match="accelerator"):  # nothing to pin for
        sharded(offload_policy=CPUOffloadPolicy())
    model, _ = sharded(offload_policy=CPUOffloadPolicy(pin_memory=False))
    model(torch.ones(1, 4)).sum().backward()
    assert {p.grad.device.type for p in model.parameters()} == {"cpu"}


def test_copies_may_average_after_the_last_pass_only():
    says("10c_copies_of_shards", "`model.set_requires_all_reduce(False)`")
    pretend_ranks(4)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    model = fully_shard(nn.Linear(4, 4), mesh=mesh)
    averages = []
    for last in (False, True):
        model.set_requires_all_reduce(last)
        with Reduced() as seen:
            model(torch.ones(1, 4)).sum().backward()
        averages.append(seen.averages)
    assert averages == [0, 1]
