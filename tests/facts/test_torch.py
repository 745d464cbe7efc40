"""What the course says about torch itself and DataParallel, without ranks."""

import copy
import inspect
import resource
import sys
import threading

import pytest
import torch
from support.says import says
from torch import nn


def test_dataparallel_without_gpus_is_the_bare_model():
    says("01_data_parallel", "bare model")
    says("07b_six_ways", "bare model")
    if not torch.cuda.is_available():
        assert nn.DataParallel(nn.Linear(1, 1)).device_ids == []


def test_the_primitives_refuse_the_cpu():
    says("01_data_parallel", "refuse the CPU")
    with pytest.raises((RuntimeError, AssertionError, ValueError)):
        nn.parallel.scatter(torch.ones(2), [torch.device("cpu")] * 2)


def test_dataparallel_is_discouraged_and_not_deprecated():
    says("01_data_parallel", "not deprecated", "`DistributedDataParallel`")
    text = " ".join(nn.DataParallel.__doc__.split())
    assert "It is recommended to use :class:`~torch.nn.parallel.DistributedDataParallel`" in text
    assert "even if there is only a single node" in text and "deprecated" not in text.lower()


def test_gather_warns_of_bare_numbers():
    says("01_data_parallel", "all input tensors were scalars")
    source = inspect.getsource(nn.parallel._functions.Gather)
    assert "all input tensors were scalars" in " ".join(source.replace('"', "").split())


def test_backward_on_the_cpu_runs_in_the_thread_that_calls_it():
    says("01_data_parallel", "backward runs in the thread")
    seen = []
    x = torch.ones(1, requires_grad=True)
    x.register_hook(lambda gradient: seen.append(threading.get_ident()))
    thread = threading.Thread(target=lambda: (x * 2).backward())
    thread.start()
    thread.join()
    assert seen == [thread.ident]


def calls_of_c_in(call) -> int:
    """The number of C functions that Python calls while `call` runs."""
    seen = []
    sys.setprofile(lambda frame, event, what: seen.append(event))
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen.count("c_call")


def test_python_launches_what_goes_forward_and_torch_what_goes_backward():
    says("07_strategies", "*launches*", "`backward()`")
    threads = {}
    for layers in (10, 200):
        x, results = torch.ones(2, requires_grad=True), []
        model = nn.Sequential(*(nn.Tanh() for _ in range(layers)))
        forward = calls_of_c_in(lambda model=model, x=x, to=results: to.append(model(x).sum()))
        threads[layers] = forward, calls_of_c_in(results[0].backward)
    assert threads[200][0] - threads[10][0] >= 190 and threads[200][1] == threads[10][1]


def test_a_synchronized_batchnorm_communicates_both_ways():
    says("07_strategies", "in both passes")
    function = nn.modules._functions.SyncBatchNorm
    assert "dist.all_gather" in inspect.getsource(function.forward)
    assert "distributed.all_reduce" in inspect.getsource(function.backward)


def faults_of(call) -> int:
    """The number of memory pages that the system provides during the second of two calls."""
    call()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    call()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(sys.platform != "linux", reason="tried on Linux")
def test_fresh_memory_for_a_large_message_comes_from_the_system():
    says("06b_horovod_engine", "fresh memory")
    message = torch.ones(2**25)  # 128 MiB, in pages of up to 2 MiB
    buffer = torch.empty_like(message)
    fresh = faults_of(lambda: torch.cat([message]))
    assert fresh >= 64 > faults_of(lambda: torch.cat([message], out=buffer))


def test_copy_converts_and_autograd_forbids_it():
    says("hints", "`copy_`", "in place")
    weight = nn.Parameter(torch.ones(1))
    with pytest.raises(RuntimeError, match="leaf Variable"):
        weight.copy_(torch.zeros(1).half())
    with torch.no_grad():
        weight.copy_(torch.zeros(1).half())
    assert weight.dtype == torch.float32 and weight.item() == 0


def test_a_pair_that_is_copied_together_stays_together():
    says("07_strategies", "`copy.deepcopy`", "the same objects")
    model = nn.Linear(1, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    model_2, optimizer_2 = copy.deepcopy((model, optimizer))
    assert optimizer_2.param_groups[0]["params"][0] is model_2.weight is not model.weight
    weight = model_2.weight
    assert model_2.to(torch.float64).weight is weight


def test_half_a_file_cannot_be_loaded(tmp_path):
    says("04_ddp_in_practice", "half a file")
    path = tmp_path / "state"
    torch.save({"x": torch.ones(1000)}, path)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(RuntimeError):
        torch.load(path)


def test_the_bytes_of_a_tensor():
    says("04c_wrong_numbers", "`view(torch.uint8)`")
    with pytest.raises(TypeError, match="BFloat16"):
        torch.ones(1, dtype=torch.bfloat16).numpy()
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int64):
        flat = torch.tensor(1.0).to(dtype).flatten()
        assert flat.view(torch.uint8).numpy().nbytes == dtype.itemsize
