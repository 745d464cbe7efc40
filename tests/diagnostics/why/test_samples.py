"""Different samples have different checksums, whatever their type and shape."""

import pytest
import torch

from course.diagnostics.watch import samples

TYPES = ("float32", "float64", "bfloat16", "uint8", "int64", "complex128")


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("shape", [(7,), (32, 64), (8, 1, 28, 28), (3, 70_001), (200, 5)])
def test_different_samples_have_different_checksums(name: str, shape: tuple[int, ...]) -> None:
    numbers = torch.randperm(torch.Size(shape).numel()).reshape(shape) % 251
    batch = numbers.to(getattr(torch, name))
    checksums = samples.rows({"x": batch, "y": torch.zeros(1)})
    assert len(set(checksums)) == min(64, shape[0])
    order = torch.randperm(shape[0])
    if shape[0] <= 64:  # the same on every rank, and at every place of a batch
        assert samples.rows([batch[order].clone()]) == [checksums[n] for n in order]


@pytest.mark.parametrize("name", TYPES)
def test_a_checksum_of_small_whole_numbers_has_more_than_a_few_bits(name: str) -> None:
    """As float64 such numbers end with at least 44 zero bits, and so would all their products."""
    batch = torch.arange(1, 65).reshape(8, 8).to(getattr(torch, name))
    assert all(checksum % 2**40 for checksum in samples.rows(batch))


def test_a_sample_that_differs_in_one_number_is_another() -> None:
    batch = torch.zeros(128, 100)
    batch[range(100), range(100)] = 1e-30
    assert len(set(samples.rows(batch))) == 64


def test_what_has_no_samples_has_no_checksums() -> None:
    for batch in (3, ["text"], torch.tensor(1.0), torch.zeros(0, 4), torch.eye(3).to_sparse()):
        assert samples.rows(batch) == []
