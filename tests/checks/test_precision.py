"""The scripts of labs 05 and 05b, here and on GPUs, as far as a machine without a GPU can tell."""

import runpy
from pathlib import Path

import pytest
import torch
from support.patience import PATIENCE_S
from support.solutions import scripts
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import course
from course.launch import launch

LAB = "05_mixed_precision"
SECOND = "05b_autocast"


@pytest.mark.parametrize(
    ("capability", "ways"),
    [
        ((7, 5), {"fp32": "highest", "bf16 (emulated)": "highest", "fp16": "highest"}),  # a T4
        (
            (9, 0),
            {
                "fp32": "highest",
                "tf32": "high",
                "bf16": "highest",
                "fp16": "highest",
                "fp8": "highest",
            },
        ),
    ],
)
def test_products_of_a_gpu_are_timed_in_the_formats_that_it_has(
    capability: tuple[int, int],
    ways: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    script = tmp_path / "matmul_speed.py"
    script.write_text(scripts(SECOND)[script.name])
    precision, used = ["highest"], {}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(course, "log", lambda way, **_: used.update({way: precision[-1]}))
    monkeypatch.setattr(torch, "set_float32_matmul_precision", precision.append)
    monkeypatch.setattr(torch, "set_num_threads", lambda count: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda *_: "a GPU")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: capability)
    with FakeTensorMode():
        runpy.run_path(str(script), run_name="__main__")
    assert {way: how for way, how in used.items() if "," not in way} == ways


@pytest.mark.slow
def test_ddp_gives_an_overflow_to_every_rank(tmp_path: Path):
    script = tmp_path / "one_inf.py"
    script.write_text(scripts(LAB)[script.name])
    run = launch(
        ["torchrun", "--standalone", "--nproc-per-node", "2", str(script)], limit=PATIENCE_S
    )
    assert run.text(0, "stdout") == "rank 0: its own gradient 1.0, the average inf"
    assert run.text(1, "stdout") == "rank 1: its own gradient inf, the average inf"


def test_autocast_copies_a_weight_once():
    """Five products with one weight cast the first input and the weight, each only once."""
    casts = []

    class Casts(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if function is torch.ops.aten._to_copy.default:
                casts.append(args[0].shape)
            return function(*args, **(kwargs or {}))

    h, weight = torch.randn(4, 8), torch.randn(8, 8, requires_grad=True)
    with Casts(), torch.autocast("cpu", torch.bfloat16):
        for _ in range(5):
            h = nn.functional.linear(h, weight)
    assert casts.count((8, 8)) == 1 and casts.count((4, 8)) == 1


def test_a_step_with_masters_takes_12_bytes_for_each_weight():
    scope = {}
    exec(scripts(LAB)["master_weights.py"], scope)
    layer = nn.Linear(8, 8, dtype=torch.float16)
    master = scope["Master"](layer.parameters(), lambda weights: torch.optim.SGD(weights, lr=0.1))
    layer(torch.randn(2, 8, dtype=torch.float16)).sum().backward()
    master.collect()
    held = [tensor for p in [*layer.parameters(), *master.masters] for tensor in (p, p.grad)]
    assert sum(tensor.nbytes for tensor in held) == 12 * sum(p.numel() for p in layer.parameters())
