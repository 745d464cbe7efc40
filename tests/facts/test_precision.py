"""What the course says about number formats, autocast and the loss scale."""

import inspect
import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
import torch.nn.functional as F
from support.says import says
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from course.core.files import ROOT
from course.lessons import lessons

LOW = {
    "linear": lambda h: F.linear(h, h),
    "matmul": lambda h: torch.matmul(h, h),
    "__matmul__": lambda h: h @ h,
    "mm": lambda h: torch.mm(h, h),
    "bmm": lambda h: torch.bmm(h.unsqueeze(0), h.unsqueeze(0)),
    "einsum": lambda h: torch.einsum("ij,jk->ik", h, h),
    "conv2d": lambda h: F.conv2d(h.view(1, 1, 4, 4), h.view(1, 1, 4, 4)),
    "scaled_dot_product_attention": lambda h: F.scaled_dot_product_attention(h, h, h),
}
FULL = {
    "softmax": lambda h: h.softmax(-1),
    "log_softmax": lambda h: h.log_softmax(-1),
    "layer_norm": lambda h: F.layer_norm(h, (4,)),
    "exp": torch.exp,
    "log": torch.log,
    "pow": lambda h: h.pow(2),
    "sum": torch.sum,
    "norm": torch.norm,
    "cross_entropy": lambda h: F.cross_entropy(h, torch.zeros_like(h)),
    "mse_loss": lambda h: F.mse_loss(h, h),
}


@contextmanager
def autocast_of_cuda() -> Iterator[None]:
    """CUDA's autocast to fp16, on tensors that have no content and so need no GPU."""
    with FakeTensorMode():
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.float16)
        torch.autocast_increment_nesting()
        try:
            yield
        finally:
            torch.autocast_decrement_nesting()
            torch.set_autocast_enabled("cuda", False)


@pytest.mark.parametrize("name", LOW)
def test_cudas_first_list(name: str):
    says("05b_autocast", "CUDA's")
    with autocast_of_cuda():
        assert LOW[name](torch.empty(4, 4, device="cuda")).dtype == torch.float16


@pytest.mark.parametrize("name", FULL)
def test_cudas_second_list(name: str):
    says("05b_autocast", "float32")
    with autocast_of_cuda():
        half = torch.empty(4, 4, device="cuda", dtype=torch.float16)
        assert FULL[name](half).dtype == torch.float32


def test_cudas_third_list_takes_the_widest():
    says("05b_autocast", "`dot`")
    with autocast_of_cuda():
        half = torch.empty(4, device="cuda", dtype=torch.float16)
        assert torch.dot(half, half.float()).dtype == torch.float32
        assert torch.dot(half, half).dtype == torch.float16


def test_the_lists_of_the_lesson_are_those_that_were_tried():
    (lesson,) = (lesson for lesson in lessons(ROOT) if lesson.name == "05b_autocast")
    script = lesson.scripts(solved=True)["src/my_autocast.py"]
    formats: dict = {}
    exec("\n".join(line for line in script.split("\n\n") if "LOW = {" in line), formats)
    assert (formats["LOW"], formats["FULL"]) == (set(LOW), set(FULL))


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "sum"])
def test_the_list_of_the_cpu_leaves_them_in_16_bits(name: str):
    says("05b_autocast", "16 bits")
    with torch.autocast("cpu", torch.bfloat16):
        assert FULL[name](torch.ones(4, 4, dtype=torch.bfloat16)).dtype == torch.bfloat16


class Casts(TorchDispatchMode):
    """Counts the copies of weights into 16 bits."""

    count = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.count += "_to_copy" in operation.name() and kwargs["dtype"] == torch.bfloat16
        return operation(*args, **(kwargs or {}))


def test_autocast_keeps_the_copy_of_a_weight_until_its_block_ends():
    says("05b_autocast", "until its block ends")
    layer, x = torch.nn.Linear(2, 2, bias=False), torch.ones(1, 2, dtype=torch.bfloat16)
    with Casts() as casts:
        for _ in range(2):
            with torch.autocast("cpu", torch.bfloat16):
                layer(x)
                layer(x)
    assert casts.count == 2


def test_autocast_leaves_float64_alone():
    says("hints", "float64")
    with torch.autocast("cpu", torch.bfloat16):
        assert (torch.ones(2, 2).double() @ torch.ones(2, 2).double()).dtype == torch.float64


def test_a_function_mode_is_off_during_its_own_call():
    says("05b_autocast", "the mode is off")
    seen = []

    class Watch(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function.__name__)
            torch.ones(1).add(1)
            return function(*args, **(kwargs or {}))

    x = torch.ones(1)
    with Watch():
        x.exp()
    assert seen == ["exp"]


def test_what_16_bits_hold():
    says(
        "05_mixed_precision",
        "5 to the exponent",
        "10 to the fraction",
        "8 to the exponent",
        "7 to the fraction",
        "eight times",
        "6·10⁻⁸",
    )
    says("glossary", "3 decimal digits", "65,504")
    half, brain = torch.finfo(torch.float16), torch.finfo(torch.bfloat16)
    assert (half.eps, brain.eps) == (2**-10, 2**-7) and brain.eps == 8 * half.eps
    assert half.max == 65_504 and brain.max > 3e38
    assert half.smallest_normal / 2**10 == pytest.approx(6e-8, rel=0.01)
    assert torch.tensor(2.9e-8).half() == 0 < torch.tensor(3.1e-8).half()


def test_a_bf16_number_is_the_upper_half_of_an_fp32_number():
    says("05_mixed_precision", "upper half")
    number = torch.tensor([1.5, -3.25])
    assert (number.view(torch.int32) >> 16).tolist() == number.bfloat16().view(
        torch.int16
    ).int().tolist()


def test_since_2_13_what_e4m3_cannot_hold_is_cut():
    says("05_mixed_precision", "448", "torch 2.13")
    cut = torch.tensor([465.0, math.inf]).to(torch.float8_e4m3fn).float()
    assert bool((cut == 448).all()) == (torch.__version__ >= (2, 13))
    assert bool(cut.isnan().all()) == (torch.__version__ < (2, 13))


def test_what_8_bits_hold():
    says("05b_autocast", "3 bits", "0.002", "448", "e5m2 has 2 bits")
    small, wide = torch.finfo(torch.float8_e4m3fn), torch.finfo(torch.float8_e5m2)
    assert (small.eps, small.max, wide.eps) == (2**-3, 448, 2**-2) and wide.max > small.max
    assert small.smallest_normal / 2**3 == pytest.approx(0.002, rel=0.05)


def test_the_loss_scale():
    says("05_mixed_precision", "65,536", "halve the scale")
    scaler = torch.amp.GradScaler("cpu", growth_interval=1)
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=1)
    state = scaler.state_dict()
    assert state["scale"] == 65_536 and "_growth_tracker" in state
    assert (state["backoff_factor"], state["growth_factor"]) == (0.5, 2)
    scaler.scale(weight.sum() * float("inf")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert (weight.item(), scaler.get_scale()) == (1, 32_768)


def test_the_old_name_of_amp_is_deprecated():
    says("05_mixed_precision", "`torch.cuda.amp`")
    with pytest.warns(FutureWarning, match="deprecated"):
        torch.cuda.amp.autocast(enabled=False)


def test_the_older_fsdp_has_a_scaler_of_its_own():
    says("05_mixed_precision", "`ShardedGradScaler`")
    from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    assert issubclass(ShardedGradScaler, torch.amp.GradScaler)


@pytest.mark.slow
@pytest.mark.sampled
def test_products_are_full_float32_until_one_asks():
    says("05b_autocast", "set_float32_matmul_precision")
    code = "import torch; print(torch.get_float32_matmul_precision())"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout.strip() == "highest"


def test_fused_adamw():
    says("05_mixed_precision", "`torch.optim.AdamW(..., fused=True)`")
    assert "fused" in inspect.signature(torch.optim.AdamW).parameters


def test_the_first_sum_decides_the_format():
    says("05b_autocast", "16 bits + 32 bits")
    assert (torch.ones(1).half() + torch.ones(1)).dtype == torch.float32


def add(step: float, times: int, dtype: torch.dtype) -> float:
    """1 plus this many small steps."""
    total = torch.ones((), dtype=dtype)
    for _ in range(times):
        total += torch.tensor(step, dtype=dtype)
    return total.item()


def test_small_changes_are_lost():
    says("05_mixed_precision", "0.0032")
    assert add(1e-4, 1000, torch.float16) == add(3.2e-3, 1000, torch.bfloat16) == 1


@pytest.mark.skipif(
    not hasattr(torch.cpu, "get_capabilities"), reason="this torch does not tell what a CPU can do"
)
def test_torchs_names_of_units_for_16_bits():
    says("05b_autocast", '"fp16_arith"')
    x86, arm = torch.cpu.get_capabilities.__doc__.split("For ARM64:")
    for unit in ("avx512_bf16", "amx_bf16", "avx512_fp16", "amx_fp16"):
        assert unit in x86
    assert " bf16" in arm and "fp16_arith" in arm
