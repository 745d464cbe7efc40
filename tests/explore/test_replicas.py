"""DataParallel's bytes against real tensors, its shares against torch's, and its pictures."""

import itertools

import pytest
import torch
from support import solutions
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from course import explore
from course.core.errors import CourseError
from course.explore.models.replicas import (
    ACTIVATION,
    DEPTH,
    ID,
    LOSS_TENSORS,
    TOKENS,
    shares,
    step,
    width,
)
from course.explore.pictures.replicas import PLACES
from course.models import bert

LAB = "01_data_parallel"


def test_shares_are_those_that_torch_cuts():
    for batch, devices in itertools.product((1, 2, 5, 7, 8, 32), (1, 2, 3, 4, 8)):
        pieces = [len(piece) for piece in torch.arange(batch).chunk(devices)]
        assert shares(batch, devices) == pieces + [0] * (devices - len(pieces))


def test_a_bert_of_base_size_is_as_wide_as_bert_base():
    assert width(108e6, 30522) == pytest.approx(768, rel=0.01)


@pytest.mark.parametrize("size", ["tiny", "mini"])
def test_activations_are_those_that_autograd_keeps(size):
    model, saved = bert(size), {}
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}

    def keep(tensor):
        memory = tensor.untyped_storage()
        if memory.data_ptr() not in own:
            saved[memory.data_ptr()] = memory.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = model.bert(torch.ones(16, 64, dtype=torch.long)).last_hidden_state
    wide = output.shape[-1]
    assert model.config.num_hidden_layers == wide / DEPTH
    assert sum(saved.values()) / output[..., 0].numel() == pytest.approx(
        ACTIVATION * wide**2 / DEPTH, rel=0.05
    )


class Large(TorchDispatchMode):
    """Counts the operations that make a tensor of at least this many elements."""

    def __init__(self, elements: int) -> None:
        super().__init__()
        self.elements, self.count = elements, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        views = function.is_view or "detach" in str(function) or "view" in str(function)
        if isinstance(result, torch.Tensor) and result.numel() >= self.elements and not views:
            self.count += 1
        return result


def test_the_loss_makes_as_many_tensors_of_the_size_of_the_logits_as_counted():
    logits = torch.randn(64, 100, requires_grad=True)
    with Large(logits.numel()) as large:
        nn.functional.cross_entropy(logits, torch.zeros(64, dtype=torch.long)).backward()
    assert large.count == LOSS_TENSORS


def virtual(count: int) -> list[torch.device]:
    """Make `count` virtual devices."""
    return [torch.device("cpu", i) for i in range(count)]


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """Make the lab's solved scripts importable."""
    with solutions.importable(monkeypatch, tmp_path, LAB) as load:
        yield load


def test_the_bytes_that_move_are_those_of_real_tensors_on_virtual_devices(scripts):
    words, batch, devices = 11, 7, 3
    handout = scripts("devices")
    model = nn.Sequential(nn.Embedding(words, 4), nn.Linear(4, words))
    where = virtual(devices)
    pieces = handout.scatter(torch.zeros(batch, TOKENS, dtype=torch.long), where)
    replicas = handout.replicate(model, where)
    outputs = handout.parallel_apply(
        replicas, [(piece,) for piece in pieces], [{}] * devices, where
    )
    gradients = torch.autograd.grad(
        [out.sum() for out in outputs], [handout.weights(replica)[0] for replica in replicas]
    )
    plan = step(devices, batch, sum(p.numel() for p in model.parameters()), words)
    count = plan.moved
    assert count["inputs out"] == 2 * sum(
        piece.nbytes for piece in pieces[1:]
    )  # words, and as large a mask
    assert pieces[0].element_size() == ID
    assert count["weights out"] == sum(
        w.nbytes for replica in replicas[1:] for w in handout.weights(replica)
    )
    assert (
        count["logits back"]
        == count["their gradients out"]
        == sum(output.nbytes for output in outputs[1:])
    )
    assert count["gradients back"] == count["weights out"]
    assert [gradient.shape for gradient in gradients] == [(words, 4)] * devices


def test_replicas_share_no_memory_except_with_the_master(scripts):
    handout = scripts("devices")
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    first, *others = handout.replicate(model, virtual(3))
    own = {p.data_ptr() for p in (*model.parameters(), *model.buffers())}
    assert {p.data_ptr() for p in (*handout.weights(first), *first.buffers())} == own
    copies = [p.data_ptr() for other in others for p in (*handout.weights(other), *other.buffers())]
    assert len(set(copies)) == len(copies) and not own & set(copies)


def test_what_a_replica_raises_reaches_the_caller_and_counts_must_agree(scripts):
    handout = scripts("devices")
    where = virtual(2)
    with pytest.raises(RuntimeError, match="shapes"):
        handout.parallel_apply(
            [nn.Linear(3, 3)] * 2, [(torch.ones(1, 3),), (torch.ones(1, 4),)], [{}] * 2, where
        )
    with pytest.raises(ValueError, match="1 replicas, 2 inputs"):
        handout.parallel_apply([nn.Linear(3, 3)], [(torch.ones(1, 3),)] * 2, [{}] * 2, where)


def test_gradients_are_not_recorded_where_the_caller_records_none(scripts):
    data_parallel = scripts("data_parallel").data_parallel
    with torch.no_grad():
        assert not data_parallel(nn.Linear(3, 3), virtual(2), torch.ones(4, 3)).requires_grad


def test_a_step_worked_out_by_hand():
    plan = step(devices=2, batch=3, parameters=1e6, vocabulary=100)
    logits = TOKENS * 100 * 4
    assert [device.samples for device in plan.devices] == [2, 1]
    assert plan.devices[0].extra == {
        "AdamW's moments": 8e6,
        "sum of gradients": 4e6,
        "gathered outputs": 3 * logits * 4,
    }
    assert plan.devices[1].held["outputs"] == 2 * logits and not plan.devices[1].extra
    assert (plan.moved["weights out"], plan.moved["logits back"]) == (4e6, logits)
    assert plan.master_link == plan.other_link == sum(plan.moved.values())
    assert (
        plan.ddp_link == 2 * 4e6
    )  # a ring all-reduce of two ranks sends and receives the gradients once


def test_the_loss_inside_moves_what_is_held_and_gathers_next_to_nothing():
    outside, inside = (step(4, 32, 1e8, 30000, inside=where) for where in (False, True))
    assert (
        inside.devices[0].total < outside.devices[0].total
        and inside.devices[1].total > outside.devices[1].total
    )
    assert inside.moved["losses back"] < 100 and inside.devices[0].extra["gathered outputs"] == 0


def test_one_device_copies_nothing_and_the_idle_hold_nothing():
    assert step(1, 8, 1e6, 100).master_link == 0 == step(1, 8, 1e6, 100).other_link
    plan = step(4, 1, 1e6, 100)
    assert (plan.used, plan.devices[3].total, plan.master_link) == (1, 0, 0)


@pytest.mark.parametrize(
    "wrong", [{"devices": 0}, {"batch": 0}, {"parameters": 0}, {"vocabulary": 0}]
)
def test_a_step_that_cannot_be_is_refused(wrong):
    with pytest.raises(CourseError, match="at least one"):
        step(**({"devices": 2, "batch": 4, "parameters": 1e6, "vocabulary": 10} | wrong))


def test_titles_say_what_the_state_shows():
    assert "3 times what device 1 holds" in explore.replicas().picture
    assert "inside forward" in explore.replicas(loss=PLACES[1]).picture
    assert "nothing is copied" in explore.replicas(devices=1).picture
    assert "cannot be split" in explore.replicas(batch=1).picture
    assert "2 of 8 devices have work" in explore.replicas(devices=8, batch=2).picture
