"""Checks of `fp8_linear`, exercise 3 of lab 05b."""

import torch

from course.checks.lab_05b import on_rank_fp8_linear as on_rank
from course.checks.tools.hint import hint
from course.explore.models import number_formats

EXACT = 1e-5  # relative: float32 has 24 bits


def nearest(x: torch.Tensor, name: str) -> torch.Tensor:
    """`x` (float64) as a reference rounds it: one scale, and the format's nearest numbers."""
    scale = number_formats.FORMATS[name].largest / x.abs().max().item()
    values = [
        number_formats.FORMATS[name].round(value * scale) / scale for value in x.flatten().tolist()
    ]
    return torch.tensor(values, dtype=torch.float64).reshape(x.shape)


class TestFp8Linear:
    """Exercise 3: a product of factors in 8 bits."""

    @hint("Which of the numbers has the largest size, its sign aside? And which format was asked?")
    def test_scale(self, alone):
        """One scale makes a tensor's largest absolute value the format's largest number."""
        for what, result in alone(on_rank.rounded).items():
            scales, largest = result["scales"], number_formats.FORMATS[result["format"]].largest
            assert len(scales) == 1, f"{what}: it has {len(scales)} scales instead of one"
            got = scales[0] * max(map(abs, result["exact"]))
            assert abs(got / largest - 1) < EXACT, (
                f"{what}: the largest size becomes {got:.6g}, the format's largest is {largest:g}"
            )

    @hint("What is a division by 0, and what is that times 0?")
    def test_zeros(self, alone):
        """Zeros stay zeros, with a scale of 1."""
        for name, (numbers, scale) in alone(on_rank.zeros).items():
            assert numbers == [0] * 4, f"{name}: four zeros become {numbers}"
            assert scale == 1, f"{name}: the scale of four zeros is {scale:g}"

    @hint("`Tensor.to` rounds to the nearest number of a format; leave the tensor itself alone.")
    def test_rounds(self, alone):
        """Each number becomes the nearest one that the format has, in that format."""
        for what, result in alone(on_rank.rounded).items():
            assert not result["dtype"], f"{what}: the result is {result['dtype']}"
            assert result["shape"], f"{what}: the result has another shape"
            assert not result["changed"], f"{what}: the tensor that was given has changed"
            form, scale = number_formats.FORMATS[result["format"]], result["scales"][0]
            for exact, got in zip(result["exact"], result["numbers"], strict=True):
                expected = form.round(exact * scale)
                off, least = abs(got - exact * scale), abs(expected - exact * scale)
                assert off <= least + EXACT * abs(expected), (
                    f"{what}: {exact:.6g} × {scale:.6g} becomes {got:g}, nearer is {expected:g}"
                )

    @hint("Both factors are rounded, each to its own format, and each has a scale.")
    def test_product(self, alone):
        """The product is that of the two rounded factors, multiplied and added in float32."""
        for what, (a, b, of_a, of_b, got, dtype) in alone(on_rank.products).items():
            factors = (torch.tensor(factor, dtype=torch.float64) for factor in (a, b))
            left, right = (nearest(x, of) for x, of in zip(factors, (of_a, of_b), strict=True))
            assert dtype == "torch.float32", f"{what}: the product is {dtype}"
            product = torch.tensor(got, dtype=torch.float64)
            assert product.shape == (len(a), len(b[0])), f"{what}: its shape is {product.shape}"
            off = float((product - left @ right).norm() / (left @ right).norm())
            assert off < 1e-4, f"{what}: the product is off by {100 * off:.2f} %"

    @hint("e5m2 ends at about 1e-5: what lifts a gradient of 1e-9 into its range?")
    def test_gradients(self, alone):
        """The gradients of a layer are right within 10 %, large or tiny."""
        for size, errors in alone(on_rank.gradients).items():
            for name, off in errors.items():
                assert off < 0.1, (
                    f"gradients of size {size:g} reach the layer; that of its {name} is off by "
                    f"{100 * off:.0f} %"
                )
