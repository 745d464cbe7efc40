"""What the course says about torch's samplers and loaders, and Hugging Face's data sets."""

import inspect

import datasets
import pytest
import torch
from support.says import says
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler
from transformers import DataCollatorWithPadding

from course.data import nli


def shares(epoch: int, length: int = 10, ranks: int = 4) -> list[list[int]]:
    """The samples that each rank draws in an epoch."""
    parts = []
    for rank in range(ranks):
        sampler = DistributedSampler(range(length), ranks, rank)
        sampler.set_epoch(epoch)
        parts.append(list(sampler))
    return parts


def test_a_loader_refuses_a_sampler_beside_shuffle():
    says("03_distributed_data_parallel", "`shuffle=True`")
    says("hints", "`shuffle`")
    with pytest.raises(ValueError):
        DataLoader(range(4), sampler=DistributedSampler(range(4), 2, 0), shuffle=True)


def test_shares_are_equal_because_some_samples_come_twice():
    says("03_distributed_data_parallel", "twice")
    dealt = shares(0)
    assert {len(share) for share in dealt} == {3}
    assert sorted(set().union(*dealt)) == list(range(10))


def test_the_order_depends_on_the_seed_and_the_epoch():
    says("03_distributed_data_parallel", "set_epoch")
    says("04c_wrong_numbers", "`DistributedSampler`")
    assert shares(0) == shares(0) != shares(1)


def test_a_set_without_a_length_takes_no_sampler():
    says("03_distributed_data_parallel", "`IterableDataset`")

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(3))

    with pytest.raises(ValueError, match="sampler"):
        DataLoader(Stream(), sampler=DistributedSampler([1, 2], 1, 0))


def test_a_loader_draws_a_number_when_it_starts():
    says("04_ddp_in_practice", "`generator`")
    for generator, moved in ((None, True), (torch.Generator(), False)):
        before = torch.get_rng_state()
        list(DataLoader(range(4), generator=generator))
        assert torch.equal(before, torch.get_rng_state()) != moved


def test_map_takes_a_thousand_pairs_per_call():
    says("03b_overlap", "a thousand pairs")
    assert inspect.signature(datasets.Dataset.map).parameters["batch_size"].default == 1000
    sizes = []
    pairs = datasets.Dataset.from_dict({"n": list(range(2500))})
    pairs.map(lambda batch: sizes.append(len(batch["n"])), batched=True)
    assert max(sizes) == 1000


def test_the_collator_renames_the_label():
    says("03b_overlap", "`label` to `labels`")
    collate = DataCollatorWithPadding(nli.make_tokenizer())
    batch = collate([{"input_ids": [2, 3], "label": 0}, {"input_ids": [2, 5, 3], "label": 1}])
    assert batch["labels"].tolist() == [0, 1] and batch["input_ids"].shape == (2, 3)


def test_the_collator_refuses_a_column_of_text():
    says("03b_overlap", 'remove_columns=["premise", "hypothesis"]')
    collate = DataCollatorWithPadding(nli.make_tokenizer())
    with pytest.raises(ValueError, match="`genre` in this case"):
        collate([{"input_ids": [2, 3], "label": 0, "genre": "fiction"}])


def test_accelerate_gives_a_rank_every_nth_batch():
    says("07b_six_ways", "every N-th batch")
    from accelerate.data_loader import BatchSamplerShard

    batches = BatchSampler(range(8), 2, drop_last=False)
    shares = [list(BatchSamplerShard(batches, 2, rank)) for rank in range(2)]
    assert shares == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
