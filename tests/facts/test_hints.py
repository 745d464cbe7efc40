"""What the fuller hints say about torch, which a new release may change."""

import hashlib
import os
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from support.says import says
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler


def test_a_share_of_a_loss_has_one_dimension():
    says("hints", '`reduction="sum"`', "`ignore_index`", "`(1,)`")
    logits, labels = torch.randn(3, 4), torch.tensor([1, 2, 3])
    apart = F.cross_entropy(logits, labels, reduction="none")
    summed = F.cross_entropy(logits, labels, reduction="sum", ignore_index=3)
    assert torch.isclose(summed, apart[:2].sum())
    assert torch.cat([summed.reshape(1), summed.reshape(1)]).shape == (2,)
    with pytest.raises(RuntimeError, match="zero-dimensional"):
        torch.cat([summed, summed])


def test_a_sampler_has_one_order_until_it_hears_of_an_epoch():
    says("hints", "`batches.sampler`")
    sampler = DistributedSampler(range(100), num_replicas=2, rank=0)
    batches = DataLoader(range(100), sampler=sampler)
    first, again = list(batches.sampler), list(batches.sampler)
    batches.sampler.set_epoch(1)
    assert first == again != list(batches.sampler)


def test_any_parameter_becomes_bytes():
    says("hints", "`view(torch.uint8)`")
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        parameter = nn.Parameter(torch.ones(2, 3, dtype=dtype))
        made = parameter.detach().cpu().flatten().view(torch.uint8).numpy()
        assert made.nbytes == 6 * dtype.itemsize
        hashlib.sha256().update(made)


def test_a_loader_reads_in_the_process_that_asks():
    says("hints", "`num_workers`")
    for workers, here in ((0, True), (1, False)):
        readers = DataLoader(_Reader(), num_workers=workers, multiprocessing_context=_fork(workers))
        assert ([int(pid) == os.getpid() for pid in readers]) == [here]


class _Reader:
    """A data set of one sample: the id of the process that reads it."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> int:
        return os.getpid()


def _fork(workers: int) -> str | None:
    return "fork" if workers else None


def test_the_product_of_8_bits_is_in_8_bits():
    says("hints", "8-bit")
    ones = torch.full((1, 17), 1.0)
    small, wide = (ones.to(dtype) for dtype in (torch.float8_e4m3fn, torch.float8_e5m2))
    product = small @ small.T
    assert product.dtype == small.dtype and product.float() == 16  # 17 needs one bit more
    with pytest.raises(RuntimeError, match="same dtype"):
        small @ wide.T


def test_who_comes_first_sets_a_key():
    says("hints", '`store.compare_set(key, "", proposal)`', "`.decode()`")
    over_tcp = dist.TCPStore("localhost", 0, is_master=True, timeout=timedelta(seconds=30))
    for store in (dist.HashStore(), over_tcp):
        assert [store.compare_set("key", "", name) for name in ("a", "b")] == [b"a", b"a"]
        assert store.get("key").decode() == "a"
