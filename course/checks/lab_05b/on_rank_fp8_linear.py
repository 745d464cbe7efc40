"""What the checks of `fp8_linear` do, in one process."""

import importlib

import torch
from torch import Tensor, nn

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
FORMATS = {"fp8 e4m3": E4M3, "fp8 e5m2": E5M2}


def tensors() -> dict[str, Tensor]:
    """Tensors to round, by what is special about them."""
    generator = torch.Generator().manual_seed(0)
    plain = torch.randn(24, 16, generator=generator)
    large = plain.clone()
    large[3] *= 1e4
    return {
        "numbers of size 1": plain,
        "numbers of size 1e-6": 1e-6 * plain,
        "numbers of size 1e6": 1e6 * plain,
        "a tensor whose largest size is negative": -plain.abs() - torch.eye(24, 16),
        "a tensor with a large row": large,
        "one number": torch.tensor([[0.3]]),
    }


def rounded() -> dict[str, dict[str, object]]:
    """By tensor and format: what `in_8_bits` makes of it, as plain data."""
    own, results = importlib.import_module("fp8_linear").in_8_bits, {}
    for what, x in tensors().items():
        for name, dtype in FORMATS.items():
            x_before = x.clone()
            small, scale = own(x_before, dtype)
            results[f"{what}, {name}"] = {
                "format": name,
                "dtype": str(small.dtype) if small.dtype != dtype else "",
                "shape": small.shape == x.shape,
                "numbers": small.double().flatten().tolist(),
                "scales": torch.as_tensor(scale).double().flatten().tolist(),
                "exact": x.double().flatten().tolist(),
                "changed": not torch.equal(x_before, x),
            }
    return results


def zeros() -> dict[str, tuple[list[float], float]]:
    """By format: what `in_8_bits` makes of four zeros, and the scale."""
    own = importlib.import_module("fp8_linear").in_8_bits
    results = {}
    for name, dtype in FORMATS.items():
        small, scale = own(torch.zeros(4), dtype)
        results[name] = small.float().tolist(), float(scale)
    return results


def products() -> dict[str, tuple[list, list, str, str, list, str]]:
    """By what is special: both factors, their formats, the learner's product, and its format."""
    own = importlib.import_module("fp8_linear").product
    generator, results = torch.Generator().manual_seed(1), {}
    for what, a in tensors().items():
        b = 100 * torch.randn(a.shape[1], 7, generator=generator)
        for of_a, of_b in (("fp8 e4m3", "fp8 e4m3"), ("fp8 e5m2", "fp8 e4m3")):
            got = own(a.clone(), b.clone(), FORMATS[of_a], FORMATS[of_b])
            factors = a.double().tolist(), b.double().tolist()
            results[f"{what}, {of_a} @ {of_b}"] = (
                *factors,
                of_a,
                of_b,
                got.double().tolist(),
                str(got.dtype),
            )
    return results


def gradients() -> dict[float, dict[str, float]]:
    """By the size of the gradient that reaches a layer: the relative errors of its gradients."""
    layer = importlib.import_module("fp8_linear").Fp8Linear
    torch.manual_seed(2)
    x, expected = torch.randn(32, 12), nn.Linear(12, 8)
    mine = layer(12, 8)
    mine.load_state_dict(expected.state_dict())
    results = {}
    for size in (1.0, 1e-9):
        flowing, ends = size * torch.randn(32, 8), []
        for linear in (expected, mine):
            inputs = x.clone().requires_grad_()
            linear.zero_grad()
            linear(inputs).backward(flowing)
            ends.append((inputs.grad, linear.weight.grad))
        results[size] = {
            name: float((got - exact).norm() / exact.norm())
            for name, exact, got in zip(("input", "weight"), *ends, strict=True)
        }
    return results
