"""Lab 12's given parts: weights as a row, the memory of unsent gradients, the count of bytes."""

import pytest
import torch
import torch.distributed as dist
from torch import nn

from course.core import dist_names
from course.given import compression, digits_task, flat_weights, sent


class Bucket:
    """As much of DDP's bucket as `compression.Memory` uses."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self._parameters = parameters

    def parameters(self) -> list[nn.Parameter]:
        return self._parameters

    def gradients(self) -> list[torch.Tensor]:
        return [torch.ones_like(parameter) for parameter in self._parameters]

    def buffer(self) -> torch.Tensor:
        return torch.cat([gradient.flatten() for gradient in self.gradients()])


def test_a_row_is_a_copy_and_goes_back_into_the_same_parameters():
    model = digits_task.model(width=4)
    parameters, row = list(model.parameters()), flat_weights.read(model)
    first = parameters[0].detach().clone()
    row += 1
    assert torch.equal(parameters[0], first)
    flat_weights.write(model, row)
    assert torch.equal(parameters[0], first + 1) and next(model.parameters()) is parameters[0]
    row += 1
    assert torch.equal(parameters[0], first + 1)
    assert not row.requires_grad


@pytest.mark.parametrize("length", [0, 54, 56])
def test_a_row_of_another_length_is_refused(length):
    model = nn.Linear(10, 5)
    with pytest.raises(ValueError, match="the model has 55 weights"):
        flat_weights.write(model, torch.zeros(length))


def test_a_memory_follows_its_parameters_into_another_bucket():
    one, two = (nn.Parameter(torch.zeros(shape)) for shape in ((2, 2), (3,)))
    memory = compression.Memory()
    assert memory.recall(Bucket([one, two])).tolist() == [0] * 7
    memory.keep(Bucket([one, two]), torch.arange(7.0))
    assert memory.recall(Bucket([two, one])).tolist() == [4, 5, 6, 0, 1, 2, 3]
    assert memory.recall(Bucket([two])).tolist() == [4, 5, 6]


def test_a_memory_keeps_a_copy_and_may_forget():
    bucket, row = Bucket([nn.Parameter(torch.zeros(2))]), torch.ones(2)
    memory = compression.Memory()
    memory.keep(bucket, row)
    row.zero_()
    assert memory.recall(bucket).tolist() == [1, 1]
    forgetful = compression.Memory(feedback=False)
    forgetful.keep(bucket, torch.ones(2))
    assert forgetful.recall(bucket).tolist() == [0, 0]


def test_a_share_is_at_least_one_number():
    bucket = Bucket([nn.Parameter(torch.zeros(30))])
    counts = [compression.Memory(share).count(bucket) for share in (0.001, 0.1, 1.0)]
    assert counts == [1, 3, 30]


def test_what_is_sent_comes_back_in_its_places_and_dtype(group_of_one):
    values, places = torch.tensor([2.0, -3.0]), torch.tensor([4, 1])
    got = compression.mean_of_few(values, places, torch.ones(5)).wait()
    assert got.tolist() == [0, -3, 0, 0, 2]
    rounded = torch.tensor([1.5, 2.5], dtype=torch.bfloat16)
    back = compression.mean(rounded, torch.float32).wait()
    assert back.dtype == torch.float32 and back.tolist() == [1.5, 2.5]


def test_messages_and_bytes_are_counted_while_it_is_entered(group_of_one):
    dist.all_reduce(torch.zeros(5))
    with sent.counted() as total:
        dist.all_reduce(torch.zeros(5))
        dist.all_reduce(torch.zeros(5, dtype=torch.bfloat16), async_op=True).wait()
        compression.mean_of_few(torch.ones(2), torch.tensor([0, 1]), torch.zeros(9)).wait()
    dist.all_reduce(torch.zeros(5))
    assert (total.messages, total.nbytes) == (4, 20 + 10 + 2 * 8)


@pytest.mark.parametrize("name", [name for name in dist_names.CONTRIBUTIONS if hasattr(dist, name)])
def test_each_function_that_is_counted_gives_the_bytes_of_its_own_tensor(group_of_one, name):
    own, room = torch.zeros(5), torch.zeros(5)
    gathered = {"all_reduce": (), "all_gather": ([room],)}.get(name, (room,))
    call = getattr(dist, name)
    with sent.counted() as total:
        getattr(dist, name)(*gathered, own)
        getattr(dist, name)(*gathered, **{dist_names.CONTRIBUTIONS[name]: own})
    assert (total.messages, total.nbytes) == (2, 2 * 20)
    assert getattr(dist, name) is call


def test_an_object_that_is_gathered_counts_with_the_message_about_its_length(group_of_one):
    with sent.counted() as total:
        dist.all_gather_object([None], "x" * 1000)
    assert total.messages == 2 and total.nbytes > 1000


def test_every_rank_begins_equal_and_the_batches_are_the_same_in_every_run(group_of_one):
    pairs = [(digits_task.model(4), list(digits_task.batches(3))) for _ in range(2)]
    (one, first), (two, second) = pairs
    assert torch.equal(flat_weights.read(one), flat_weights.read(two))
    assert all(torch.equal(a[0], b[0]) for a, b in zip(first, second, strict=True))
    assert first[0][0].shape == (digits_task.BATCH, 1, 8, 8)
    assert 2 < digits_task.validation_loss(one) < 2.6  # guessing among ten
