"""The pretended GPUs refuse what CUDA and NCCL refuse, and nothing else."""

import functools
import textwrap

import pytest
import torch
from support import on_rank_pretended as on_rank
from support.python import run_python

from course.checks.runner.on_ranks import CheckRanks
from course.launch import connect

pytestmark = [pytest.mark.slow, pytest.mark.rest]

TWO_DEVICES = "RuntimeError: Expected all tensors to be on the same device"
# What is said of some code where `x` lies on GPU 0 and `host` on the CPU; or where its result lies.
SAMPLES = {
    "x + 1": "cuda:0",
    "x * torch.tensor(2.0)": "cuda:0",
    "x + host": TWO_DEVICES,
    "x @ torch.rand(2, 2)": TWO_DEVICES,
    "torch.stack([x, host])": TWO_DEVICES,
    "nn.Linear(2, 2)(x)": TWO_DEVICES,
    "nn.Linear(2, 2).to('cuda')(x)": "cuda:0",
    "nn.Linear(2, 2).cuda(1).weight": "cuda:1",
    "nn.Embedding(3, 2).cuda()(torch.tensor([1]))": TWO_DEVICES,
    "x[torch.tensor([0])]": "cuda:0",
    "host.copy_(x)": "cpu",
    "x.cpu() + host": "cpu",
    "x.to('cuda:1')": "cuda:1",
    "host.to(x)": "cuda:0",
    "x.to(torch.float16)": "cuda:0",
    "x.t()[0].detach().clone()": "cuda:0",
    "torch.zeros_like(x)": "cuda:0",
    "torch.zeros_like(host, device='cuda:1')": "cuda:1",
    "x.new_tensor([1.0])": "cuda:0",
    "x.new_zeros(2)": "cuda:0",
    "torch.as_tensor(host, device='cuda')": "cuda:0",
    "torch.tensor([1.0], device='cuda')": "cuda:0",
    "torch.from_numpy(host.numpy()) + x": TWO_DEVICES,
    "deepcopy(nn.Linear(2, 2).cuda()).weight": "cuda:0",
    "x.numpy()": "TypeError: can't convert cuda:0 device type tensor to numpy",
    "x.cpu().numpy().tolist()": "[[1.0, 1.0], [1.0, 1.0]]",
    "x.tolist()": "[[1.0, 1.0], [1.0, 1.0]]",
    "x.is_cuda, x.is_cpu, x.get_device(), host.get_device()": "(True, False, 0, -1)",
    "torch.ones(1, device='cuda:2')": "AcceleratorError: CUDA error: invalid device ordinal",
    "torch.cuda.set_device(2)": "AcceleratorError: CUDA error: invalid device ordinal",
    "torch.cuda.set_device('cuda:1'); torch.ones(1).cuda()": "cuda:1",
    "torch.accelerator.set_device_index(1); torch.ones(1, device='cuda')": "cuda:1",
    "torch.cuda.set_device(0); torch.ones(1, device='cuda')": "cuda:0",
    "torch.cuda.device_count(), torch.accelerator.device_count()": "(2, 2)",
    "w = torch.ones(2, requires_grad=True); (w.cuda() * x[0]).sum().backward(); w.grad": "cpu",
    "m = nn.Linear(2, 2).cuda(); m(x).sum().backward(); m.weight.grad": "cuda:0",
    "w = torch.ones(2, device='cuda').requires_grad_(); w.t().backward(x[0]); w.grad": "cuda:0",
    "x.new_empty_strided((2,), (1,), device='cpu')": "cuda:0",
}
# The ranks on which a wrong use is reported, and the message.
WRONG = {
    "every_rank_on_gpu_0": ([0, 1], "DistBackendError: ncclInvalidUsage: Duplicate GPU detected"),
    "same_gpu_as_device_id": ([0, 1], "DistBackendError: ncclInvalidUsage: Duplicate GPU detected"),
    "barrier_without_device_id": ([0], "UserWarning: barrier(): using the device under current"),
    "unbatched_message": ([0, 1], "UserWarning: Pretended GPUs: An unbatched P2P op"),
    "tensor_of_the_cpu": ([0, 1], "RuntimeError: No backend type associated with device type cpu"),
    "message_over_gloo": ([0, 1], "RuntimeError: writev [127.0.0.1]: Bad address"),
    "another_current_gpu": ([1], "NCCL is given a tensor on cuda:1 while cuda:0 is current"),
    "synchronize_without_set_device": ([1], "this rank uses cuda:0: call torch.cuda.set_device"),
    "more_ranks_than_gpus": ([1], "AcceleratorError: CUDA error: invalid device ordinal"),
}
if torch.__version__ >= (2, 15):  # a group without `device_id` is given the GPU of LOCAL_RANK
    WRONG |= {
        "every_rank_on_gpu_0": ([1], "the group communicates from cuda:1, not from cuda:0"),
        "barrier_without_device_id": ([], "UserWarning: barrier()"),  # so it is right there
    }


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    connect.warm_up()
    return functools.partial(CheckRanks(tmp_path_factory.mktemp("src")).call, join=False)


def test_tensors_and_devices(ranks):
    (results,) = ranks(1, on_rank.alone, list(SAMPLES))
    differ = {
        sample: got
        for (sample, expected), got in zip(SAMPLES.items(), results, strict=True)
        if not got.startswith(expected)
    }
    assert differ == {}


def test_statistics_of_the_memory_come_after_initialization(ranks):
    ((early, is_initialized, late, and_now),) = ranks(1, on_rank.before_cuda_is_initialized)
    assert early.startswith("RuntimeError: Invalid device argument") and not is_initialized
    assert late == "" and and_now


def test_nothing_is_said_of_a_right_script(ranks):
    for rank, result in enumerate(ranks(2, on_rank.as_it_should_be)):
        assert result == {
            "said": "",
            "backend": "nccl",
            "total": [2.0, 2.0],
            "received": [2.0 * (1 - rank)] * 2,
            "objects": ["rank 0", "rank 1"],
            "gradient": f"cuda:{rank}",
            "state": f"cuda:{rank}",
            "on_host": "[2. 2.]",
        }


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_use_of_nccl_is_named(ranks, name):
    where, words = WRONG[name]
    results = ranks(2, on_rank.wrong, name)
    assert [rank for rank in (0, 1) if words in results[rank]] == where, results
    assert [rank for rank in (0, 1) if results[rank]] == where, results


def test_to_import_it_changes_nothing():
    code = """
        import torch
        import torch.distributed.distributed_c10d as c10d
        homes = (torch, torch.Tensor, torch.cuda, torch.accelerator, torch.distributed, c10d)
        before = [{name: vars(home)[name] for name in vars(home)} for home in homes]
        from course.pretended import nccl, entry, tensors, torch_cuda
        for home, names in zip(homes, before):
            changed = [name for name in names if vars(home).get(name) is not names[name]]
            assert not changed, (home, changed)
    """
    done = run_python(textwrap.dedent(code))
    assert done.returncode == 0, done.stderr
