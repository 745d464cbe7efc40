"""What the course says about torch's DistributedDataParallel, tried with one rank."""

import inspect
import warnings
from contextlib import nullcontext

import pytest
import torch
import torch.distributed as dist
from support.says import says
from torch import nn
from torch._dynamo.backends.distributed import DDPOptimizer
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode

from course.diagnostics.why.detectors.buffers import OF_DDP

pytestmark = pytest.mark.usefixtures("group_of_one", "one_thread")
MIB = 2**20


def layers(count: int, mib: float) -> nn.Sequential:
    """This many layers, each with one weight of `mib` MiB."""
    rows = int(mib * MIB / 4 / 512)
    return nn.Sequential(*(Row(rows) for _ in range(count)))


class Row(nn.Module):
    """Multiplies its input by the mean of a weight of (rows, 512) numbers."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(rows, 512))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight.mean()


def buckets(model: nn.Module, steps: int = 3, **options: object) -> list[list[float]]:
    """The bucket sizes of each step, in MiB, in the order in which DDP sends them."""
    ddp = DistributedDataParallel(model, **options)
    sizes: list[list[float]] = []

    def note(_state: None, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        sizes[-1].append(bucket.buffer().nbytes / MIB)
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    ddp.register_comm_hook(None, note)
    for _ in range(steps):
        sizes.append([])
        ddp(torch.ones(1)).sum().backward()
    return sizes


class Messages(TorchDispatchMode):
    """Records the collectives that torch runs, including those of DDP."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation.namespace == "c10d":
            self.names.append(operation.name())
        return operation(*args, **(kwargs or {}))


def test_the_caps_of_the_buckets():
    says("03b_overlap", "25 MiB", "1 MiB")
    assert dist._DEFAULT_FIRST_BUCKET_BYTES == MIB
    assert DistributedDataParallel(nn.Linear(1, 1)).bucket_bytes_cap == 25 * MIB


def test_the_first_step_has_one_bucket_and_the_next_begins_with_a_small_one():
    says("03b_overlap", "second step")
    says("glossary", "first step")
    first, second, third = buckets(layers(8, 9))
    assert (first, second, third) == ([72], [9, 27, 27, 9], [9, 27, 27, 9])


def test_a_bucket_closes_when_it_reaches_the_cap():
    says("03b_overlap", "reaches")
    says("glossary", "25 MiB", "1 MiB")
    assert buckets(layers(4, 0.75), bucket_cap_mb=1)[-1] == [1.5, 1.5]


def test_a_cap_of_ones_own_holds_for_the_first_bucket():
    says("03b_overlap", "`bucket_cap_mb`")
    assert buckets(layers(8, 1), bucket_cap_mb=2)[-1] == [2, 2, 2, 2]
    says("03b_overlap", "torch.compile", "1 MiB")
    assert DDPOptimizer(2 * MIB, backend_compile_fn=None).first_bucket_cap == MIB


def test_static_graph_watches_one_step_longer():
    says("03b_overlap", "`static_graph`")
    options = {"static_graph": True, "bucket_cap_mb": 1}
    assert list(map(len, buckets(layers(4, 1), 4, **options))) == [1, 1, 4, 4]


def test_the_flags_of_unused_parameters():
    says("03_distributed_data_parallel", "`find_unused_parameters=True`", "`static_graph=True`")
    options = {"default": {}, "search": {"find_unused_parameters": True}}
    options["static"] = {"static_graph": True}
    sent: dict[str, list[int]] = {name: [] for name in options}
    for name, option in options.items():
        ddp = DistributedDataParallel(nn.Linear(1, 1), **option)
        for _ in range(3):
            with Messages() as messages:
                ddp(torch.ones(1, 1)).sum().backward()
            sent[name].append(sum("allreduce" in message for message in messages.names))
    assert sent == {"default": [1, 1, 1], "search": [2, 2, 2], "static": [2, 1, 1]}


def test_a_compiled_model_is_cut_at_the_buckets_by_default():
    says("03b_overlap", "`optimize_ddp`")
    assert torch._dynamo.config.optimize_ddp is True


def test_a_compiled_model_refuses_a_cap_below_that_of_the_first_bucket():
    says("03b_overlap", "refuses a smaller cap")
    assert DDPOptimizer(25 * MIB, nullcontext).first_bucket_cap == MIB
    with pytest.raises(AssertionError, match="First bucket should be smaller"):
        DDPOptimizer(MIB - 1, nullcontext)


def test_a_search_for_unused_parameters_keeps_the_first_buckets():
    says("03b_overlap", "flags")
    assert buckets(layers(10, 9))[-1] == [9, 27, 27, 27]
    assert buckets(layers(10, 9), find_unused_parameters=True) == 3 * [[27, 27, 27, 9]]


def test_a_static_graph_rebuilds_its_buckets_even_with_the_search():
    says("03b_overlap", "needs no search later")
    options = {"static_graph": True, "find_unused_parameters": True}
    assert buckets(layers(10, 9), **options)[-1] == [9, 27, 27, 27]


def test_bucket_views_refuse_detach_and_nothing_else():
    says("03b_overlap", "gradient_as_bucket_view", "`grad.detach_()`", "`parameter.grad`")
    model = nn.Linear(3, 2)
    ddp = DistributedDataParallel(model, gradient_as_bucket_view=True)
    ddp(torch.ones(1, 3)).sum().backward()
    memory = {parameter.grad.untyped_storage().data_ptr() for parameter in model.parameters()}
    assert len(memory) == 1
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        model.weight.grad.detach_()
    model.weight.grad = torch.zeros(2, 3)
    ddp(torch.ones(1, 3)).sum().backward()
    assert model.weight.grad.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_an_unused_parameter_is_an_error_in_the_next_forward():
    says("03_distributed_data_parallel", "unused parameter")
    says("04c_wrong_numbers", "expected to have finished reduction")
    model = nn.ModuleDict({"used": nn.Linear(1, 1), "unused": nn.Linear(1, 1)})
    model.forward = lambda x: model["used"](x)
    ddp = DistributedDataParallel(model)
    ddp(torch.ones(1, 1)).sum().backward()
    with pytest.raises(RuntimeError, match="Expected to have finished reduction"):
        ddp(torch.ones(1, 1))


def test_the_cpu_takes_no_device_ids():
    says("03_distributed_data_parallel", "only `None`")
    with pytest.raises(ValueError, match="device_ids"):
        DistributedDataParallel(nn.Linear(1, 1), device_ids=[torch.device("cpu")])


def test_what_an_evaluation_sends():
    says("04b_clinic", "*buffers*", "`no_grad`")
    for norm, sent in ((nn.BatchNorm1d(2), True), (nn.LayerNorm(2), False)):
        ddp = DistributedDataParallel(nn.Sequential(nn.Linear(2, 2), norm))
        ddp.eval()
        with torch.no_grad(), Messages() as messages:
            ddp(torch.ones(2, 2))
        assert bool(messages.names) == sent, messages.names


def test_the_forward_after_an_evaluation_sends_no_buffers():
    says("04b_clinic", "`no_sync`")
    ddp = DistributedDataParallel(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    sent = []
    for quiet in (torch.no_grad, nullcontext, nullcontext, ddp.no_sync, nullcontext):
        with quiet(), Messages() as messages:
            loss = ddp(torch.ones(2, 2)).sum()
        if quiet is not torch.no_grad:
            loss.backward()
        sent.append(any("broadcast" in name for name in messages.names))
    assert sent == [True, False, True, True, False]


def test_the_second_forward_arranges_the_buckets_with_two_messages():
    says("04b_clinic", "two messages")
    ddp = DistributedDataParallel(nn.Linear(2, 2))
    ddp(torch.ones(1, 2)).sum().backward()
    with Messages() as messages:
        ddp(torch.ones(1, 2))
    assert messages.names == 2 * ["c10d::broadcast_"]


def test_moving_the_module_ends_the_averaging():
    model = nn.Linear(2, 2)
    ddp = DistributedDataParallel(model)
    model.double()
    with Messages() as messages:
        ddp(torch.ones(1, 2).double()).sum().backward()
    assert messages.names == []


def test_no_sync_has_to_hold_the_forward():
    says("hints", "`no_sync`")
    ddp = DistributedDataParallel(nn.Linear(2, 2))
    for inside, sent in ((True, False), (False, True)):
        with Messages() as messages:
            if inside:
                with ddp.no_sync():
                    ddp(torch.ones(1, 2)).sum().backward()
            else:
                loss = ddp(torch.ones(1, 2)).sum()
                with ddp.no_sync():
                    loss.backward()
        assert any("allreduce" in name for name in messages.names) == sent, messages.names


def test_join_divides_by_the_initial_number_of_ranks():
    says("06_horovod_style", "`divide_by_initial_world_size`")
    parameters = inspect.signature(DistributedDataParallel.join).parameters
    assert parameters["divide_by_initial_world_size"].default is True


def test_a_torch_without_cuda_refuses_the_hook_for_bf16():
    says("05b_autocast", "`bf16_compress_hook`")
    ddp = DistributedDataParallel(nn.Linear(2, 2))
    if torch.version.cuda or torch.version.hip:  # there it takes Gloo, too
        ddp.register_comm_hook(None, default_hooks.bf16_compress_hook)
    else:
        with pytest.raises(TypeError, match="BF16 all reduce communication hook required"):
            ddp.register_comm_hook(None, default_hooks.bf16_compress_hook)
    ddp(torch.ones(1, 2)).sum().backward()
    assert ddp.module.weight.grad.tolist() == [[1, 1], [1, 1]]


def test_the_result_of_a_collective_comes_as_a_list():
    says("05b_autocast", "list of one tensor")
    value = dist.all_reduce(torch.ones(2), async_op=True).get_future().wait()
    assert isinstance(value, list) and len(value) == 1


def test_the_hook_of_a_gradient_gets_its_parameter():
    says("03b_overlap", "`parameter.grad`")
    called = []
    layer, frozen = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    for parameter in (*layer.parameters(), *frozen.parameters()):
        parameter.register_post_accumulate_grad_hook(lambda p: called.append((p, p.grad)))
    frozen.requires_grad_(False)
    frozen(layer(torch.ones(1, 1))).sum().backward()
    assert [(p is layer.weight, gradient is not None) for p, gradient in called] == [(True, True)]


def test_sync_batch_norm_needs_gpus():
    says("03_distributed_data_parallel", "needs GPUs")
    norm = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(2))
    with pytest.raises(ValueError, match="SyncBatchNorm expected input tensor to be on"):
        norm(torch.ones(2, 2))


def test_how_to_keep_buffers_apart():
    says("07_strategies", "`broadcast_buffers=False`", "torch 2.13", "`forward_sync_buffers`")
    assert "`forward_sync_buffers=False` to DDP (before torch 2.13, `broadcast_buffers" in OF_DDP
    renamed = "forward_sync_buffers" in inspect.signature(DistributedDataParallel).parameters
    assert renamed == (torch.__version__ >= (2, 13))
    option = {"forward_sync_buffers" if renamed else "broadcast_buffers": False}
    says("08_scaling", "model.broadcast_buffers = False")
    with warnings.catch_warnings(action="error"):
        quiet = DistributedDataParallel(nn.BatchNorm1d(2), **option)
        wrapped = DistributedDataParallel(nn.BatchNorm1d(2))
        wrapped.broadcast_buffers = False
    if renamed:
        with pytest.warns(FutureWarning, match="`broadcast_buffers` is deprecated"):
            DistributedDataParallel(nn.BatchNorm1d(2), broadcast_buffers=False)
    for ddp in (quiet, wrapped):
        with torch.no_grad(), Messages() as messages:
            ddp(torch.ones(2, 2))
        assert messages.names == []


def test_after_a_pass_without_messages_no_buffers_travel():
    says("03_distributed_data_parallel", "or one without gradients")
    ddp = DistributedDataParallel(nn.BatchNorm1d(2))
    for passing, sends in ((ddp.no_sync, False), (nullcontext, True), (torch.no_grad, False)):
        with passing():
            ddp(torch.randn(4, 2))
        assert ddp.require_forward_param_sync == sends, "whether the next forward sends them"
