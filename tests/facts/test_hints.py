"""What the fuller hints say of torch and of Python, each followed once."""

import hashlib
import os
from collections import namedtuple
from datetime import timedelta
from statistics import quantiles

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from support.says import says
from torch import nn
from torch.nn.utils import clip_grad_norm_
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


def test_the_parts_of_a_tensor_are_views():
    says("hints", "`tensor_split`")
    flat = torch.zeros(7)
    parts = flat.tensor_split(3)
    assert [len(part) for part in parts] == [3, 2, 2]
    parts[1].fill_(1)
    assert flat.tolist() == [0, 0, 0, 1, 1, 0, 0]


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


def test_a_loader_is_no_iterator():
    says("hints", "`iter(batches)`", "second argument")
    batches = DataLoader(range(1))
    with pytest.raises(TypeError, match="not an iterator"):
        next(batches)
    begun = iter(batches)
    assert [next(begun, None), next(begun, None)] == [0, None]


def test_a_loader_reads_in_the_process_that_asks():
    says("hints", "`num_workers`")
    for workers, here in ((0, True), (1, False)):
        readers = DataLoader(_Reader(), num_workers=workers, multiprocessing_context=_fork(workers))
        assert ([int(pid) == os.getpid() for pid in readers]) == [here]


class _Reader:
    """One sample: the number of the process that reads it."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> int:
        return os.getpid()


def _fork(workers: int) -> str | None:
    return "fork" if workers else None


def test_a_namedtuple_takes_its_entries_apart():
    says("hints", "`_fields`")
    pair = namedtuple("pair", "x y")(1, 2)
    assert type(pair)(*pair) == pair and pair._fields == ("x", "y")
    with pytest.raises(TypeError):
        type(pair)(list(pair))


def test_the_product_of_8_bits_is_in_8_bits():
    says("hints", "8-bit")
    ones = torch.full((1, 17), 1.0)
    small, wide = (ones.to(dtype) for dtype in (torch.float8_e4m3fn, torch.float8_e5m2))
    product = small @ small.T
    assert product.dtype == small.dtype and product.float() == 16  # 17 needs one bit more
    with pytest.raises(RuntimeError, match="same dtype"):
        small @ wide.T


def test_cat_writes_into_the_memory_that_it_is_given():
    says("hints", "torch.cat")
    buffer = torch.zeros(8)
    torch.cat([torch.ones(2, 2).flatten(), torch.ones(1)], out=buffer[:5])
    assert buffer.tolist() == [1, 1, 1, 1, 1, 0, 0, 0]


def test_quartiles_come_in_their_order():
    says("hints", '`quantiles(rates, n=4, method="inclusive")`')
    assert quantiles([5, 1, 4, 2, 3], n=4, method="inclusive") == [2, 3, 4]


def test_the_lowest_of_equals():
    says("hints", "`index(min(...))`")
    held = [3, 1, 1]
    assert held.index(min(held)) == 1


def test_the_rest_of_a_negative_number():
    says("hints", "`-10 % 4`")
    assert -10 % 4 == 2 and (10 + -10 % 4) % 4 == 0


def test_a_tensor_without_a_gradient_takes_no_hook():
    says("hints", "takes no hook")
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        torch.ones(1).register_hook(print)


def test_the_norm_of_clipping_is_a_tensor():
    says("hints", "`clip_grad_norm_`")
    parameter = nn.Parameter(torch.zeros(2))
    parameter.grad = torch.tensor([3.0, 4.0])
    norm = clip_grad_norm_([parameter], max_norm=1)
    assert isinstance(norm, torch.Tensor) and norm == 5
    assert torch.allclose(parameter.grad, torch.tensor([0.6, 0.8]))


def test_a_part_keeps_the_whole_in_memory():
    says("hints", "Clone it")
    part = torch.ones(100).tensor_split(4)[0]
    assert part.untyped_storage().nbytes() == 400 > part.clone().untyped_storage().nbytes()


def test_index_fill_makes_a_copy():
    says("hints", "`index_fill`")
    row = torch.tensor([1.0, -3.0, 2.0])
    places = row.abs().topk(1).indices
    assert row.index_fill(0, places, 0).tolist() == [1, 0, 2] and row.tolist() == [1, -3, 2]


def test_who_comes_first_sets_a_key():
    says("hints", '`store.compare_set(key, "", proposal)`', "`.decode()`")
    over_tcp = dist.TCPStore("localhost", 0, is_master=True, timeout=timedelta(seconds=30))
    for store in (dist.HashStore(), over_tcp):
        assert [store.compare_set("key", "", name) for name in ("a", "b")] == [b"a", b"a"]
        assert store.get("key").decode() == "a"
