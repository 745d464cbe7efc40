"""What the course says of torch itself, and of DataParallel: without ranks."""

import copy
import inspect
import resource
import sys
import threading

import pytest
import torch
import torch.nn.functional as F
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


def test_the_options_of_dataparallel():
    says("01_data_parallel", "`nn.DataParallel(model, device_ids=[0, 2], output_device=0)`")
    assert {"device_ids", "output_device"} <= set(inspect.signature(nn.DataParallel).parameters)


def test_gather_warns_of_bare_numbers():
    says("01_data_parallel", "all input tensors were scalars")
    source = inspect.getsource(nn.parallel._functions.Gather)
    assert "all input tensors were scalars" in " ".join(source.replace('"', "").split())


def test_pieces_are_equal_but_for_the_last():
    says("01_data_parallel", "2, 2 and 1")
    assert [len(piece) for piece in torch.arange(5).chunk(4)] == [2, 2, 1]


def test_tensor_split_is_nearly_even():
    says("07_strategies", "10 samples", "a batch of 2 on 4 replicas")
    assert [len(share) for share in torch.arange(10).tensor_split(4)] == [3, 3, 2, 2]
    assert [len(share) for share in torch.arange(2).tensor_split(4)] == [1, 1, 0, 0]


def test_a_setting_of_each_thread():
    says("01_data_parallel", "each thread")
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
        assert seen == [True] and not torch.is_grad_enabled()


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
    """How many functions written in C Python calls in a call."""
    seen = []
    sys.setprofile(lambda frame, event, what: seen.append(event))
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen.count("c_call")


def test_python_launches_what_goes_forward_and_torch_what_goes_backward():
    says("07_strategies", "*launches*", "`backward()`")
    found = {}
    for layers in (10, 200):
        x, results = torch.ones(2, requires_grad=True), []
        model = nn.Sequential(*(nn.Tanh() for _ in range(layers)))
        forward = calls_of_c_in(lambda model=model, x=x, to=results: to.append(model(x).sum()))
        found[layers] = forward, calls_of_c_in(results[0].backward)
    assert found[200][0] - found[10][0] >= 190 and found[200][1] == found[10][1]


def test_a_synchronized_batchnorm_communicates_both_ways():
    says("07_strategies", "in both passes")
    function = nn.modules._functions.SyncBatchNorm
    assert "dist.all_gather" in inspect.getsource(function.forward)
    assert "distributed.all_reduce" in inspect.getsource(function.backward)


def faults_of(call) -> int:
    """How many pages of memory the system hands out in the second of two calls."""
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


def test_labels_that_do_not_count():
    says("01_data_parallel", "−100")
    logits = torch.randn(2, 3)
    whole, first = (F.cross_entropy(logits, torch.tensor([1, label])) for label in (-100, 2))
    assert whole == F.cross_entropy(logits[:1], torch.tensor([1])) != first


def test_float_of_float32_is_the_same_memory():
    says("hints", "`.float()`")
    x = torch.ones(1)
    assert x.float().data_ptr() == x.data_ptr()


def test_copy_converts_and_autograd_forbids_it():
    says("hints", "`copy_`", "in place")
    weight = nn.Parameter(torch.ones(1))
    with pytest.raises(RuntimeError, match="leaf Variable"):
        weight.copy_(torch.zeros(1).half())
    with torch.no_grad():
        weight.copy_(torch.zeros(1).half())
    assert weight.dtype == torch.float32 and weight.item() == 0


def test_a_state_dict_leaves_some_buffers_out():
    says("hints", "`state_dict()`")
    layer = nn.Linear(1, 1)
    layer.register_buffer("places", torch.ones(1), persistent=False)
    assert "places" in dict(layer.named_buffers()) and "places" not in layer.state_dict()


def test_a_pair_that_is_copied_together_stays_together():
    says("07_strategies", "`copy.deepcopy`", "the same objects")
    model = nn.Linear(1, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    model_2, optimizer_2 = copy.deepcopy((model, optimizer))
    assert optimizer_2.param_groups[0]["params"][0] is model_2.weight is not model.weight
    weight = model_2.weight
    assert model_2.to(torch.float64).weight is weight


def test_a_slice_is_not_a_copy():
    says("11_splitting", "A slice is not a copy")
    whole = torch.ones(100)
    assert (
        whole[:1].untyped_storage().nbytes() == 400 > whole[:1].clone().untyped_storage().nbytes()
    )


def test_a_module_is_changed_itself():
    says("04_ddp_in_practice", "`.cpu()`")
    model = nn.Linear(1, 1)
    assert model.cpu() is model


def test_half_a_file_cannot_be_loaded(tmp_path):
    says("04_ddp_in_practice", "half a file")
    path = tmp_path / "state"
    torch.save({"x": torch.ones(1000)}, path)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(RuntimeError):
        torch.load(path)


def test_join_is_a_context_manager():
    says("04b_clinic", "`Join`")
    from torch.distributed.algorithms import Join

    assert hasattr(Join, "__enter__") and hasattr(Join, "__exit__")


def test_the_bytes_of_a_tensor():
    says("04c_wrong_numbers", "`view(torch.uint8)`")
    with pytest.raises(TypeError, match="BFloat16"):
        torch.ones(1, dtype=torch.bfloat16).numpy()
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int64):
        flat = torch.tensor(1.0).to(dtype).flatten()
        assert flat.view(torch.uint8).numpy().nbytes == dtype.itemsize
